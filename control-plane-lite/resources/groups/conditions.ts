/** Conditions in a status, of the form that kinds share. Source: meta/v1 Condition. */

import type { Condition } from '#api/gen/meta-v1.ts';
import { labelValueFaults, qualifiedNameFaults } from '#api/meta/names.ts';
import type { Faults } from '#api/schema/validation/faults.ts';

const STATUSES = ['False', 'True', 'Unknown'];
const REASON = /^[A-Za-z](?:[A-Za-z0-9_,:]*[A-Za-z0-9_])?$/;
const LONGEST_REASON = 1024;
const LONGEST_MESSAGE = 32_768;

function validateReason(faults: Faults, reason: string, path: string): void {
  if (reason === '') return faults.required(path, 'must be set');
  if (!REASON.test(reason)) {
    faults.invalid(path, reason, "must be letters, digits, '_', ',' or ':', starting with a letter");
  }
  if (reason.length > LONGEST_REASON) {
    faults.add('FieldValueTooLong', path, `must have at most ${LONGEST_REASON} characters`);
  }
  return undefined;
}

/** Reports every error of a list of conditions, one for each type. */
export function validateConditions(
  faults: Faults,
  conditions: readonly Condition[] | undefined,
  path: string,
): void {
  const seen = new Set<string>();
  for (const [index, condition] of (conditions ?? []).entries()) {
    const { type, status, observedGeneration, lastTransitionTime, reason, message } = condition;
    const at = `${path}[${index}]`;
    if (type === '') faults.required(`${at}.type`, 'must be set');
    else faults.invalidAll(`${at}.type`, type, qualifiedNameFaults(type));
    if (seen.has(type)) faults.duplicate(`${at}.type`, type);
    seen.add(type);
    if (!STATUSES.includes(status)) faults.unsupported(`${at}.status`, status, STATUSES);
    faults.nonNegative(`${at}.observedGeneration`, observedGeneration);
    if (lastTransitionTime === '') faults.required(`${at}.lastTransitionTime`, 'must be set');
    validateReason(faults, reason, `${at}.reason`);
    if (message.length > LONGEST_MESSAGE) {
      faults.add('FieldValueTooLong', `${at}.message`, `must have at most ${LONGEST_MESSAGE} characters`);
    }
  }
}

/** Validates required labels at a path. */
export function validateLabelMap(
  faults: Faults,
  labels: Readonly<Record<string, string>> | undefined,
  path: string,
): void {
  for (const [key, value] of Object.entries(labels ?? {})) {
    faults.invalidAll(path, key, qualifiedNameFaults(key));
    faults.invalidAll(`${path}[${key}]`, value, labelValueFaults(value));
  }
}
