/** Label selectors of objects that own pods. */

import type { LabelSelector } from '#api/gen/meta-v1.ts';
import { type Requirement, SelectorError, selectorRequirements } from '#api/meta/selectors.ts';
import type { FieldErrors } from '#api/schema/validation/field-errors.ts';
import { validateLabelSelector } from '#api/schema/validation/label-selector.ts';

export const isEmptySelector = (selector: LabelSelector): boolean =>
  Object.keys(selector.matchLabels ?? {}).length === 0 && (selector.matchExpressions ?? []).length === 0;

/** Returns the requirements of a selector; none if it is invalid, which is reported elsewhere. */
export function requirementsOf(selector: LabelSelector | undefined): readonly Requirement[] {
  try {
    return selector === undefined ? [] : selectorRequirements(selector);
  } catch (error) {
    if (error instanceof SelectorError) return [];
    throw error;
  }
}

/** Validates a required, nonempty selector of owned pods. */
export function validatePodSelector(
  errors: FieldErrors,
  selector: LabelSelector | undefined,
  path: string,
  kind: string,
): void {
  if (selector === undefined) return errors.required(path);
  validateLabelSelector(errors, selector, path);
  if (isEmptySelector(selector)) {
    errors.invalid(path, selector, `empty selector is invalid for ${kind.toLowerCase()}`);
  }
  return undefined;
}
