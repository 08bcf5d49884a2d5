/** Resource names in quotas and limits, and amounts that must be integers. Source: upstream's resource name
 *  helpers, release 1.24. */
import { qualifiedNameErrors } from '#api/meta/names.ts';
import { parseQuantity } from '#api/meta/quantity.ts';
import type { FieldErrors } from '#api/schema/validation/field-errors.ts';

const NANOS = 1_000_000_000n;
const COMPUTE: readonly string[] = ['cpu', 'memory', 'ephemeral-storage'];
/** Objects that are counted. */
const COUNTED: readonly string[] = [
  'pods',
  'resourcequotas',
  'services',
  'replicationcontrollers',
  'secrets',
  'configmaps',
  'persistentvolumeclaims',
  'services.nodeports',
  'services.loadbalancers',
];
const QUOTA: ReadonlySet<string> = new Set([
  ...COMPUTE,
  ...COMPUTE.map((name) => `requests.${name}`),
  ...COMPUTE.map((name) => `limits.${name}`),
  'requests.storage',
  ...COUNTED,
]);
const STANDARD: ReadonlySet<string> = new Set([...QUOTA, 'storage']);
const HUGE_PAGES = 'hugepages-';

const isHugePages = (name: string): boolean => name.startsWith(HUGE_PAGES);

/** Reports whether the resource may be overcommitted. */
export const isOvercommittable = (name: string): boolean => COMPUTE.includes(name);

export const isStandardQuotaName = (name: string): boolean =>
  QUOTA.has(name) || isHugePages(name) || name.startsWith(`requests.${HUGE_PAGES}`);

function validateName(errors: FieldErrors, name: string, path: string, isKnown: boolean, form: string): void {
  const reasons = qualifiedNameErrors(name);
  errors.invalidAll(path, name, reasons);
  if (reasons.length === 0 && !name.includes('/') && !isKnown) errors.invalid(path, name, form);
}

/** A name in a quota. */
export function validateQuotaName(errors: FieldErrors, name: string, path: string): void {
  const form = 'must be a standard resource for quota or fully qualified';
  validateName(errors, name, path, isStandardQuotaName(name), form);
}

/** Validates the name of a compute resource. */
export function validateContainerResourceName(errors: FieldErrors, name: string, path: string): void {
  const form = 'must be a standard resource for containers or fully qualified';
  validateName(errors, name, path, COMPUTE.includes(name) || isHugePages(name), form);
}

/** Any resource's name. */
export function validateResourceName(errors: FieldErrors, name: string, path: string): void {
  const form = 'must be a standard resource type or fully qualified';
  validateName(errors, name, path, STANDARD.has(name) || isHugePages(name), form);
}

/** An amount: not negative, and whole where objects are counted. */
export function validateAmount(errors: FieldErrors, name: string, amount: string, path: string): void {
  const { nanos } = parseQuantity(amount);
  if (nanos < 0n) errors.invalid(path, amount, 'must be greater than or equal to 0');
  if ((COUNTED.includes(name) || isHugePages(name)) && nanos % NANOS !== 0n) {
    errors.invalid(path, amount, 'must be an integer');
  }
}
