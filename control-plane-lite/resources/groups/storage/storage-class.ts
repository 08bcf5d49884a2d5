/** StorageClasses. Source: storage classes, document 3 §2.6; storage/v1. */

import { isDeepStrictEqual } from 'node:util';
import type { TopologySelectorTerm } from '#api/gen/core-v1.ts';
import type { StorageClass } from '#api/gen/storage-v1.ts';
import { qualifiedNameFaults } from '#api/meta/names.ts';
import type { Faults } from '#api/schema/validation/faults.ts';
import type { KindEntry } from '../../contract.ts';
import { ageOf, UNSET } from '../../rows.ts';
import { kindStrategy, validateImmutable } from '../kind.ts';

const MAX_PARAMETERS = 512;
const MAX_PARAMETER_BYTES = 256 * 1024;
const RECLAIM_POLICIES = ['Delete', 'Retain'];

function validateParameters(faults: Faults, parameters: Readonly<Record<string, string>>): void {
  const entries = Object.entries(parameters);
  if (entries.length > MAX_PARAMETERS) {
    faults.add('FieldValueTooLong', 'parameters', `must have at most ${MAX_PARAMETERS} items`);
    return;
  }
  if (entries.some(([key]) => key === '')) faults.invalid('parameters', '', 'field can not be empty');
  const bytes = entries.reduce(
    (sum, [key, text]) => sum + Buffer.byteLength(key) + Buffer.byteLength(text),
    0,
  );
  if (bytes > MAX_PARAMETER_BYTES) {
    faults.add('FieldValueTooLong', 'parameters', `must have at most ${MAX_PARAMETER_BYTES} bytes`);
  }
}

function validateTerm(faults: Faults, term: TopologySelectorTerm, path: string): void {
  const seen = new Set<string>();
  for (const [index, { key, values }] of (term.matchLabelExpressions ?? []).entries()) {
    const at = `${path}.matchLabelExpressions[${index}]`;
    faults.invalidAll(`${at}.key`, key, qualifiedNameFaults(key));
    if (seen.has(key)) faults.duplicate(`${at}.key`, key);
    seen.add(key);
    if (values.length === 0) faults.required(`${at}.values`);
    for (const [position, value] of values.entries()) {
      if (values.indexOf(value) < position) faults.duplicate(`${at}.values[${position}]`, value);
    }
  }
}

function validateTopologies(faults: Faults, terms: readonly TopologySelectorTerm[]): void {
  for (const [index, term] of terms.entries()) {
    const path = `allowedTopologies[${index}]`;
    validateTerm(faults, term, path);
    if (terms.slice(0, index).some((earlier) => isDeepStrictEqual(earlier, term))) {
      faults.duplicate(`${path}.matchLabelExpressions`, '');
    }
  }
}

const FIXED = ['parameters', 'provisioner', 'reclaimPolicy'] as const;

export const storageClass: KindEntry = {
  strategy: kindStrategy<StorageClass>({
    validate(faults, object) {
      const {
        provisioner,
        parameters = {},
        reclaimPolicy = '',
        volumeBindingMode,
        allowedTopologies = [],
      } = object;
      if (provisioner === '') faults.required('provisioner');
      else faults.invalidAll('provisioner', provisioner, qualifiedNameFaults(provisioner.toLowerCase()));
      validateParameters(faults, parameters);
      if (!RECLAIM_POLICIES.includes(reclaimPolicy)) {
        faults.unsupported('reclaimPolicy', reclaimPolicy, RECLAIM_POLICIES);
      }
      if (volumeBindingMode === undefined) faults.required('volumeBindingMode');
      validateTopologies(faults, allowedTopologies);
    },
    validateUpdate(faults, object, old) {
      for (const member of FIXED) {
        if (isDeepStrictEqual(object[member] ?? {}, old[member] ?? {})) continue;
        faults.forbidden(member, `updates to ${member} are forbidden.`);
      }
      validateImmutable(faults, object.volumeBindingMode, old.volumeBindingMode, 'volumeBindingMode');
    },
    row: (object, { nowMs, vocabulary }) => {
      const key = `storageclass.${vocabulary.domain}/is-default-class`;
      const { name = '', annotations } = object.metadata ?? {};
      return [
        annotations?.[key] === 'true' ? `${name} (default)` : name,
        object.provisioner,
        object.reclaimPolicy ?? 'Delete',
        object.volumeBindingMode ?? UNSET,
        object.allowVolumeExpansion ?? false,
        ageOf(object, nowMs),
      ];
    },
  }),
};
