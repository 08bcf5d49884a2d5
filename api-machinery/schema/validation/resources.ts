/** Validation of requests and limits of containers. */

import type { ResourceRequirements } from '../../gen/core-v1.ts';
import { qualifiedNameErrors } from '../../meta/names.ts';
import { compareQuantities, parseQuantity } from '../../meta/quantity.ts';
import type { FieldErrors } from './field-errors.ts';

type Amounts = Readonly<Record<string, string>>;

const STANDARD: readonly string[] = ['cpu', 'memory', 'ephemeral-storage'];
const HUGE_PAGES = 'hugepages-';
const NANOS = 1_000_000_000n;

/** Resources that can be overcommitted: cpu, memory and ephemeral storage. */
const isOvercommittable = (name: string): boolean => STANDARD.includes(name);

function validateName(errors: FieldErrors, name: string, path: string): void {
  const reasons = qualifiedNameErrors(name);
  errors.invalidAll(path, name, reasons);
  if (reasons.length > 0 || name.includes('/')) return;
  if (!STANDARD.includes(name) && !name.startsWith(HUGE_PAGES)) {
    errors.invalid(
      path,
      name,
      `must be ${STANDARD.join(', ')}, ${HUGE_PAGES}<size>, or a name with a domain`,
    );
  }
}

function validateAmount(errors: FieldErrors, name: string, amount: string, path: string): void {
  const { nanos } = parseQuantity(amount);
  if (nanos < 0n) errors.invalid(path, amount, 'must be greater than or equal to 0');
  if (!isOvercommittable(name) && nanos % NANOS !== 0n)
    errors.invalid(path, amount, 'must be a whole number');
}

function validateAmounts(errors: FieldErrors, amounts: Amounts, path: string): void {
  for (const [name, amount] of Object.entries(amounts)) {
    const at = `${path}[${name}]`;
    validateName(errors, name, at);
    validateAmount(errors, name, amount, at);
  }
}

const hasHugePages = (amounts: Amounts): boolean =>
  Object.keys(amounts).some((name) => name.startsWith(HUGE_PAGES));

/** Returns every validation error of a container's requests and limits. The decoder has made amounts
 *  canonical. */
export function validateResources(errors: FieldErrors, resources: ResourceRequirements, path: string): void {
  const { limits = {}, requests = {} } = resources;
  validateAmounts(errors, limits, `${path}.limits`);
  validateAmounts(errors, requests, `${path}.requests`);
  for (const [name, request] of Object.entries(requests)) {
    const at = `${path}.requests[${name}]`;
    const limit = Object.hasOwn(limits, name) ? limits[name] : undefined;
    if (limit === undefined) {
      if (!isOvercommittable(name))
        errors.required(`${path}.limits[${name}]`, 'a limit is needed beside the request');
    } else if (!isOvercommittable(name) && compareQuantities(request, limit) !== 0) {
      errors.invalid(at, request, `must be equal to the limit, ${limit}`);
    } else if (compareQuantities(request, limit) > 0) {
      errors.invalid(at, request, `must be less than or equal to the limit, ${limit}`);
    }
  }
  const isNamed = (name: string): boolean => Object.hasOwn(limits, name) || Object.hasOwn(requests, name);
  if (!isNamed('cpu') && !isNamed('memory') && (hasHugePages(limits) || hasHugePages(requests))) {
    errors.forbidden(path, 'huge pages need cpu or memory beside them');
  }
}

/** Returns every validation error of the overhead of a pod. */
export function validateOverhead(errors: FieldErrors, overhead: Amounts, path: string): void {
  validateAmounts(errors, overhead, path);
}
