/** Conditions in a status, of the form that kinds share. Source: meta/v1 Condition. */

import type { Condition } from '#api/gen/meta-v1.ts';
import { labelValueErrors, qualifiedNameErrors } from '#api/meta/names.ts';
import type { FieldErrors } from '#api/schema/validation/field-errors.ts';

const STATUSES = ['False', 'True', 'Unknown'];
const REASON = /^[A-Za-z](?:[A-Za-z0-9_,:]*[A-Za-z0-9_])?$/;
const LONGEST_REASON = 1024;
const LONGEST_MESSAGE = 32_768;

function validateReason(errors: FieldErrors, reason: string, path: string): void {
  if (reason === '') return errors.required(path, 'must be set');
  if (!REASON.test(reason)) {
    errors.invalid(path, reason, "must be letters, digits, '_', ',' or ':', starting with a letter");
  }
  if (reason.length > LONGEST_REASON) {
    errors.add('FieldValueTooLong', path, `must have at most ${LONGEST_REASON} characters`);
  }
  return undefined;
}

/** Reports every error of a list of conditions, one for each type. */
export function validateConditions(
  errors: FieldErrors,
  conditions: readonly Condition[] | undefined,
  path: string,
): void {
  const seen = new Set<string>();
  for (const [index, condition] of (conditions ?? []).entries()) {
    const { type, status, observedGeneration, lastTransitionTime, reason, message } = condition;
    const at = `${path}[${index}]`;
    if (type === '') errors.required(`${at}.type`, 'must be set');
    else errors.invalidAll(`${at}.type`, type, qualifiedNameErrors(type));
    if (seen.has(type)) errors.duplicate(`${at}.type`, type);
    seen.add(type);
    if (!STATUSES.includes(status)) errors.unsupported(`${at}.status`, status, STATUSES);
    errors.nonNegative(`${at}.observedGeneration`, observedGeneration);
    if (lastTransitionTime === '') errors.required(`${at}.lastTransitionTime`, 'must be set');
    validateReason(errors, reason, `${at}.reason`);
    if (message.length > LONGEST_MESSAGE) {
      errors.add('FieldValueTooLong', `${at}.message`, `must have at most ${LONGEST_MESSAGE} characters`);
    }
  }
}

/** Validates required labels at a path. */
export function validateLabelMap(
  errors: FieldErrors,
  labels: Readonly<Record<string, string>> | undefined,
  path: string,
): void {
  for (const [key, value] of Object.entries(labels ?? {})) {
    errors.invalidAll(path, key, qualifiedNameErrors(key));
    errors.invalidAll(`${path}[${key}]`, value, labelValueErrors(value));
  }
}
