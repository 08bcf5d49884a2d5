/** Amounts given as a count or a percentage, and counts in a status. */
import { type IntOrString, parsePercent } from '#api/meta/int-or-string.ts';
import type { FieldErrors } from '#api/schema/validation/field-errors.ts';

/** A count from 0 on, or `25%`. */
export function validateAmount(errors: FieldErrors, amount: IntOrString | undefined, path: string): void {
  if (typeof amount === 'number') errors.nonNegative(path, amount);
  else if (amount !== undefined && parsePercent(amount) === undefined) {
    errors.invalid(path, amount, "must be a whole number or a percentage, such as 1 or '10%'");
  }
}

/** Rejects percentages above 100. */
export function validateAtMostAll(errors: FieldErrors, amount: IntOrString | undefined, path: string): void {
  const percent = typeof amount === 'string' ? parsePercent(amount) : undefined;
  if (percent !== undefined && percent > 100) errors.invalid(path, amount, 'must not be greater than 100%');
}

/** The number of a count or percentage; 0 for anything else. */
export const amountNumber = (amount: IntOrString | undefined): number =>
  typeof amount === 'string' ? (parsePercent(amount) ?? 0) : (amount ?? 0);

/** Validates that counts of a status are not negative. */
export function validateCounts<T extends object>(
  errors: FieldErrors,
  status: T | undefined,
  members: readonly (keyof T & string)[],
): void {
  for (const member of members) {
    const count = status?.[member];
    if (typeof count === 'number') errors.nonNegative(`status.${member}`, count);
  }
}

/** A part is never more than the whole; both absent count as zero. */
export function validateAtMost(
  errors: FieldErrors,
  part: readonly [member: string, count: number | undefined],
  whole: readonly [member: string, count: number | undefined],
): void {
  if ((part[1] ?? 0) > (whole[1] ?? 0)) {
    errors.invalid(`status.${part[0]}`, part[1], `cannot be greater than status.${whole[0]}`);
  }
}

/** A count that only rises. */
export function validateNotDecremented(
  errors: FieldErrors,
  count: number | undefined,
  old: number | undefined,
  path: string,
): void {
  if (old === undefined) return;
  if (count === undefined || count < old) errors.invalid(path, count ?? null, 'cannot be decremented');
}
