/** ResourceQuotas. Source: upstream's quota validation and printer, release 1.24. */

import type { ResourceQuota, ResourceQuotaSpec } from '#api/gen/core-v1.ts';
import type { FieldError } from '#api/meta/field-error.ts';
import { createBoundedFaults, type Faults } from '#api/schema/validation/faults.ts';
import type { ApiObject, Cell, KindEntry, PartStrategy } from '../contract.ts';
import { keepAllBut } from '../generic.ts';
import { ageOf } from '../rows.ts';
import { typed } from '../view.ts';
import { isStandardQuotaName, validateAmount, validateQuotaName } from './resource-names.ts';

const POD_COMPUTE: readonly string[] = [
  'cpu',
  'memory',
  'requests.cpu',
  'requests.memory',
  'limits.cpu',
  'limits.memory',
];
const CONFLICTING: readonly (readonly [string, string])[] = [
  ['BestEffort', 'NotBestEffort'],
  ['Terminating', 'NotTerminating'],
];

/** Whether a scope, which tells pods apart, can be used for a resource. */
function scopeFits(scope: string, resource: string): boolean {
  if (!isStandardQuotaName(resource) || resource === 'pods') return true;
  // Pods of best effort ask for nothing that could be summed up.
  return scope !== 'BestEffort' && POD_COMPUTE.includes(resource);
}

function validateAmounts(
  faults: Faults,
  amounts: Readonly<Record<string, string>> | undefined,
  path: string,
): void {
  for (const [name, amount] of Object.entries(amounts ?? {})) {
    validateQuotaName(faults, name, `${path}[${name}]`);
    validateAmount(faults, name, amount, `${path}[${name}]`);
  }
}

function validateScopes(faults: Faults, spec: ResourceQuotaSpec): void {
  const { scopes = [], hard = {} } = spec;
  const path = 'spec.scopes';
  for (const scope of scopes) {
    for (const resource of Object.keys(hard)) {
      if (!scopeFits(scope, resource)) {
        faults.invalid(path, scopes, 'unsupported scope applied to resource');
      }
    }
  }
  validateConflicts(faults, scopes, path);
}

function validateConflicts(faults: Faults, scopes: readonly string[], path: string): void {
  for (const [one, other] of CONFLICTING) {
    if (scopes.includes(one) && scopes.includes(other)) faults.invalid(path, scopes, 'conflicting scopes');
  }
}

function validateSelector(faults: Faults, spec: ResourceQuotaSpec): void {
  const path = 'spec.scopeSelector.matchExpressions';
  const expressions = spec.scopeSelector?.matchExpressions ?? [];
  for (const { scopeName, operator, values = [] } of expressions) {
    const resources = Object.keys(spec.hard ?? {});
    if (resources.some((resource) => !scopeFits(scopeName, resource))) {
      faults.invalid(path, resources, 'unsupported scope applied to resource');
    }
    if (scopeName !== 'PriorityClass' && operator !== 'Exists') {
      faults.invalid(`${path}.operator`, operator, `must be 'Exists' for scope ${scopeName}`);
    }
    const takesValues = operator === 'In' || operator === 'NotIn';
    if (takesValues && values.length === 0) {
      faults.required(
        `${path}.values`,
        "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector",
      );
    } else if (!takesValues && values.length > 0) {
      faults.invalid(
        `${path}.values`,
        values,
        "must be no value when `operator` is 'Exists' or 'DoesNotExist' for scope selector",
      );
    }
  }
  validateConflicts(
    faults,
    expressions.map(({ scopeName }) => scopeName),
    path,
  );
}

function validate(object: ApiObject): readonly FieldError[] {
  const faults = createBoundedFaults();
  const { spec = {} } = typed<ResourceQuota>(object);
  validateAmounts(faults, spec.hard, 'spec.hard');
  validateScopes(faults, spec);
  validateSelector(faults, spec);
  return faults.errors;
}

function validateUpdate(object: ApiObject, old: ApiObject): readonly FieldError[] {
  const faults = createBoundedFaults();
  const [now, before] = [object, old].map(
    (quota) => new Set<string>(typed<ResourceQuota>(quota).spec?.scopes ?? []),
  );
  if (now !== undefined && before !== undefined && now.symmetricDifference(before).size > 0) {
    faults.invalid('spec.scopes', [...now], 'field is immutable');
  }
  return faults.errors;
}

const statusPart: PartStrategy = {
  prepareForUpdate: (draft, old) => keepAllBut(draft, old, 'status'),
  validateUpdate(object): readonly FieldError[] {
    const faults = createBoundedFaults();
    const { hard, used } = typed<ResourceQuota>(object).status ?? {};
    validateAmounts(faults, hard, 'status.hard');
    validateAmounts(faults, used, 'status.used');
    return faults.errors;
  },
};

function row(object: ApiObject, nowMs: number): readonly Cell[] {
  const { hard = {}, used = {} } = typed<ResourceQuota>(object).status ?? {};
  const text = (names: readonly string[]): string =>
    names.map((name) => `${name}: ${used[name] ?? '0'}/${hard[name] ?? '0'}`).join(', ');
  const names = Object.keys(hard).toSorted();
  const isLimit = (name: string): boolean => name.startsWith('limits.');
  return [
    object.metadata.name ?? '',
    ageOf(object, nowMs),
    text(names.filter((name) => !isLimit(name))),
    text(names.filter(isLimit)),
  ];
}

export const resourceQuotaKind: KindEntry = {
  strategy: {
    countsGeneration: false,
    validate,
    validateUpdate,
    row: (object, { nowMs }) => row(object, nowMs),
  },
  parts: { status: statusPart },
};
