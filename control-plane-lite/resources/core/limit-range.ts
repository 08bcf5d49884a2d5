/** LimitRanges. Source: upstream's limit range validation, release 1.24. */

import type { LimitRange, LimitRangeItem } from '#api/gen/core-v1.ts';
import type { FieldError } from '#api/meta/field-error.ts';
import { qualifiedNameErrors } from '#api/meta/names.ts';
import { compareQuantities, parseQuantity } from '#api/meta/quantity.ts';
import { createBoundedFieldErrors, type FieldErrors } from '#api/schema/validation/field-errors.ts';
import type { ApiObject, KindEntry } from '../contract.ts';
import { typed } from '../view.ts';
import {
  isOvercommittable,
  validateAmount,
  validateContainerResourceName,
  validateResourceName,
} from './resource-names.ts';

const CLAIM = 'PersistentVolumeClaim';
const TYPES: readonly string[] = ['Pod', 'Container', CLAIM];

type Amounts = Readonly<Record<string, string>>;

function validateType(errors: FieldErrors, type: string, path: string): void {
  const reasons = qualifiedNameErrors(type);
  errors.invalidAll(path, type, reasons);
  if (reasons.length === 0 && !type.includes('/') && !TYPES.includes(type)) {
    errors.invalid(path, type, 'must be a standard limit type or fully qualified');
  }
}

function validateNames(errors: FieldErrors, item: LimitRangeItem, path: string): void {
  const check =
    item.type === 'Pod' || item.type === 'Container' ? validateContainerResourceName : validateResourceName;
  for (const member of ['max', 'min', 'default', 'defaultRequest', 'maxLimitRequestRatio'] as const) {
    const amounts = item[member] ?? {};
    if (item.type === 'Pod' && (member === 'default' || member === 'defaultRequest')) {
      if (Object.keys(amounts).length > 0) {
        errors.forbidden(`${path}.${member}`, "may not be specified when `type` is 'Pod'");
      }
      continue;
    }
    for (const [name, amount] of Object.entries(amounts)) {
      const at = `${path}.${member}[${name}]`;
      check(errors, name, at);
      if (member !== 'maxLimitRequestRatio') validateAmount(errors, name, amount, at);
    }
  }
}

const more = (a: string | undefined, b: string | undefined): boolean =>
  a !== undefined && b !== undefined && compareQuantities(a, b) > 0;

const ratioText = (max: string, min: string): number =>
  Number(parseQuantity(max).nanos) / Number(parseQuantity(min).nanos);

function validateRatio(
  errors: FieldErrors,
  ratio: string,
  { min, max }: { readonly min: string | undefined; readonly max: string | undefined },
  path: string,
): void {
  if (more('1', ratio)) errors.invalid(path, ratio, `ratio ${ratio} is less than 1`);
  if (min === undefined || max === undefined) return;
  const most = ratioText(max, min);
  if (ratioText(ratio, '1') > most) {
    errors.invalid(path, ratio, `ratio ${ratio} is greater than max/min = ${most.toFixed(6)}`);
  }
}

/** Validates the relations between the bounds of one resource. */
function validateBounds(errors: FieldErrors, item: LimitRangeItem, name: string, path: string): void {
  const read = (amounts: Amounts | undefined): string | undefined =>
    amounts !== undefined && Object.hasOwn(amounts, name) ? amounts[name] : undefined;
  const [min, max] = [read(item.min), read(item.max)];
  const [limit, request] = [read(item.default), read(item.defaultRequest)];
  const at = (member: keyof LimitRangeItem): string => `${path}.${member}[${name}]`;
  if (more(min, max)) errors.invalid(at('min'), min, `min value ${min} is greater than max value ${max}`);
  if (more(min, request)) {
    errors.invalid(
      at('defaultRequest'),
      request,
      `min value ${min} is greater than default request value ${request}`,
    );
  }
  for (const [bound, what] of [
    [max, 'max value'],
    [limit, 'default limit value'],
  ] as const) {
    if (!more(request, bound)) continue;
    errors.invalid(
      at('defaultRequest'),
      request,
      `default request value ${request} is greater than ${what} ${bound}`,
    );
  }
  if (more(min, limit)) {
    errors.invalid(at('default'), min, `min value ${min} is greater than default value ${limit}`);
  }
  if (more(limit, max)) {
    errors.invalid(at('default'), max, `default value ${limit} is greater than max value ${max}`);
  }
  const ratio = read(item.maxLimitRequestRatio);
  if (ratio !== undefined) validateRatio(errors, ratio, { min, max }, at('maxLimitRequestRatio'));
  const differs = limit !== undefined && request !== undefined && compareQuantities(limit, request) !== 0;
  if (differs && !isOvercommittable(name)) {
    errors.invalid(
      at('defaultRequest'),
      request,
      `default value ${limit} must equal to defaultRequest value ${request} in ${name}`,
    );
  }
}

function namesOf(item: LimitRangeItem): ReadonlySet<string> {
  const podLevel = item.type === 'Pod';
  return new Set([
    ...Object.keys(item.max ?? {}),
    ...Object.keys(item.min ?? {}),
    ...(podLevel ? [] : Object.keys(item.default ?? {})),
    ...(podLevel ? [] : Object.keys(item.defaultRequest ?? {})),
    ...Object.keys(item.maxLimitRequestRatio ?? {}),
  ]);
}

function validate(object: ApiObject): readonly FieldError[] {
  const errors = createBoundedFieldErrors();
  const seen = new Set<string>();
  for (const [index, item] of (typed<LimitRange>(object).spec?.limits ?? []).entries()) {
    const path = `spec.limits[${index}]`;
    validateType(errors, item.type, `${path}.type`);
    if (seen.has(item.type)) errors.duplicate(`${path}.type`, item.type);
    seen.add(item.type);
    validateNames(errors, item, path);
    if (item.type === CLAIM && item.min?.['storage'] === undefined && item.max?.['storage'] === undefined) {
      errors.required(
        `${path}.limits`,
        'either minimum or maximum storage value is required, but neither was provided',
      );
    }
    for (const name of namesOf(item)) validateBounds(errors, item, name, path);
  }
  return errors.all;
}

export const limitRangeKind: KindEntry = {
  strategy: { countsGeneration: false, createOnUpdate: true, validate },
};
