/** StorageClasses. Source: storage classes, document 3 §2.6; storage/v1. */

import { isDeepStrictEqual } from 'node:util';
import type { TopologySelectorTerm } from '#api/gen/core-v1.ts';
import type { StorageClass } from '#api/gen/storage-v1.ts';
import { qualifiedNameErrors } from '#api/meta/names.ts';
import type { FieldErrors } from '#api/schema/validation/field-errors.ts';
import type { KindEntry } from '../../contract.ts';
import { ageOf, UNSET } from '../../rows.ts';
import { kindStrategy, validateImmutable } from '../kind.ts';

const MAX_PARAMETERS = 512;
const MAX_PARAMETER_BYTES = 256 * 1024;
const RECLAIM_POLICIES = ['Delete', 'Retain'];

function validateParameters(errors: FieldErrors, parameters: Readonly<Record<string, string>>): void {
  const entries = Object.entries(parameters);
  if (entries.length > MAX_PARAMETERS) {
    errors.add('FieldValueTooLong', 'parameters', `must have at most ${MAX_PARAMETERS} items`);
    return;
  }
  if (entries.some(([key]) => key === '')) errors.invalid('parameters', '', 'field can not be empty');
  const bytes = entries.reduce(
    (sum, [key, text]) => sum + Buffer.byteLength(key) + Buffer.byteLength(text),
    0,
  );
  if (bytes > MAX_PARAMETER_BYTES) {
    errors.add('FieldValueTooLong', 'parameters', `must have at most ${MAX_PARAMETER_BYTES} bytes`);
  }
}

function validateTerm(errors: FieldErrors, term: TopologySelectorTerm, path: string): void {
  const seen = new Set<string>();
  for (const [index, { key, values }] of (term.matchLabelExpressions ?? []).entries()) {
    const at = `${path}.matchLabelExpressions[${index}]`;
    errors.invalidAll(`${at}.key`, key, qualifiedNameErrors(key));
    if (seen.has(key)) errors.duplicate(`${at}.key`, key);
    seen.add(key);
    if (values.length === 0) errors.required(`${at}.values`);
    for (const [position, value] of values.entries()) {
      if (values.indexOf(value) < position) errors.duplicate(`${at}.values[${position}]`, value);
    }
  }
}

function validateTopologies(errors: FieldErrors, terms: readonly TopologySelectorTerm[]): void {
  for (const [index, term] of terms.entries()) {
    const path = `allowedTopologies[${index}]`;
    validateTerm(errors, term, path);
    if (terms.slice(0, index).some((earlier) => isDeepStrictEqual(earlier, term))) {
      errors.duplicate(`${path}.matchLabelExpressions`, '');
    }
  }
}

const FIXED = ['parameters', 'provisioner', 'reclaimPolicy'] as const;

export const storageClass: KindEntry = {
  strategy: kindStrategy<StorageClass>({
    validate(errors, object) {
      const {
        provisioner,
        parameters = {},
        reclaimPolicy = '',
        volumeBindingMode,
        allowedTopologies = [],
      } = object;
      if (provisioner === '') errors.required('provisioner');
      else errors.invalidAll('provisioner', provisioner, qualifiedNameErrors(provisioner.toLowerCase()));
      validateParameters(errors, parameters);
      if (!RECLAIM_POLICIES.includes(reclaimPolicy)) {
        errors.unsupported('reclaimPolicy', reclaimPolicy, RECLAIM_POLICIES);
      }
      if (volumeBindingMode === undefined) errors.required('volumeBindingMode');
      validateTopologies(errors, allowedTopologies);
    },
    validateUpdate(errors, object, old) {
      for (const member of FIXED) {
        if (isDeepStrictEqual(object[member] ?? {}, old[member] ?? {})) continue;
        errors.forbidden(member, `updates to ${member} are forbidden.`);
      }
      validateImmutable(errors, object.volumeBindingMode, old.volumeBindingMode, 'volumeBindingMode');
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
