/** ResourceQuotas. Source: upstream's quota validation and printer, release 1.24. */

import type { ResourceQuota, ResourceQuotaSpec } from '#api/gen/core-v1.ts';
import type { FieldError } from '#api/meta/field-error.ts';
import { createBoundedFieldErrors, type FieldErrors } from '#api/schema/validation/field-errors.ts';
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

/** Reports whether a scope, which applies to pods, is valid for a resource. */
function scopeFits(scope: string, resource: string): boolean {
  if (!isStandardQuotaName(resource) || resource === 'pods') return true;
  // Best-effort pods have no requests to count.
  return scope !== 'BestEffort' && POD_COMPUTE.includes(resource);
}

function validateAmounts(
  errors: FieldErrors,
  amounts: Readonly<Record<string, string>> | undefined,
  path: string,
): void {
  for (const [name, amount] of Object.entries(amounts ?? {})) {
    validateQuotaName(errors, name, `${path}[${name}]`);
    validateAmount(errors, name, amount, `${path}[${name}]`);
  }
}

function validateScopes(errors: FieldErrors, spec: ResourceQuotaSpec): void {
  const { scopes = [], hard = {} } = spec;
  const path = 'spec.scopes';
  for (const scope of scopes) {
    for (const resource of Object.keys(hard)) {
      if (!scopeFits(scope, resource)) {
        errors.invalid(path, scopes, 'unsupported scope applied to resource');
      }
    }
  }
  validateConflicts(errors, scopes, path);
}

function validateConflicts(errors: FieldErrors, scopes: readonly string[], path: string): void {
  for (const [one, other] of CONFLICTING) {
    if (scopes.includes(one) && scopes.includes(other)) errors.invalid(path, scopes, 'conflicting scopes');
  }
}

function validateSelector(errors: FieldErrors, spec: ResourceQuotaSpec): void {
  const path = 'spec.scopeSelector.matchExpressions';
  const expressions = spec.scopeSelector?.matchExpressions ?? [];
  for (const { scopeName, operator, values = [] } of expressions) {
    const resources = Object.keys(spec.hard ?? {});
    if (resources.some((resource) => !scopeFits(scopeName, resource))) {
      errors.invalid(path, resources, 'unsupported scope applied to resource');
    }
    if (scopeName !== 'PriorityClass' && operator !== 'Exists') {
      errors.invalid(`${path}.operator`, operator, `must be 'Exists' for scope ${scopeName}`);
    }
    const takesValues = operator === 'In' || operator === 'NotIn';
    if (takesValues && values.length === 0) {
      errors.required(
        `${path}.values`,
        "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector",
      );
    } else if (!takesValues && values.length > 0) {
      errors.invalid(
        `${path}.values`,
        values,
        "must be no value when `operator` is 'Exists' or 'DoesNotExist' for scope selector",
      );
    }
  }
  validateConflicts(
    errors,
    expressions.map(({ scopeName }) => scopeName),
    path,
  );
}

function validate(object: ApiObject): readonly FieldError[] {
  const errors = createBoundedFieldErrors();
  const { spec = {} } = typed<ResourceQuota>(object);
  validateAmounts(errors, spec.hard, 'spec.hard');
  validateScopes(errors, spec);
  validateSelector(errors, spec);
  return errors.all;
}

function validateUpdate(object: ApiObject, old: ApiObject): readonly FieldError[] {
  const errors = createBoundedFieldErrors();
  const [now, before] = [object, old].map(
    (quota) => new Set<string>(typed<ResourceQuota>(quota).spec?.scopes ?? []),
  );
  if (now !== undefined && before !== undefined && now.symmetricDifference(before).size > 0) {
    errors.invalid('spec.scopes', [...now], 'field is immutable');
  }
  return errors.all;
}

const statusPart: PartStrategy = {
  prepareForUpdate: (draft, old) => keepAllBut(draft, old, 'status'),
  validateUpdate(object): readonly FieldError[] {
    const errors = createBoundedFieldErrors();
    const { hard, used } = typed<ResourceQuota>(object).status ?? {};
    validateAmounts(errors, hard, 'status.hard');
    validateAmounts(errors, used, 'status.used');
    return errors.all;
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
