/** Conditions of flow schemas and priority levels. Source: flowcontrol/v1beta2. */
import type { FieldErrors } from '#api/schema/validation/field-errors.ts';

interface Condition {
  readonly type?: string;
}

/** Reports every error of the list, which has each type once. */
export function validateFlowConditions(errors: FieldErrors, conditions: readonly Condition[]): void {
  const seen = new Set<string>();
  for (const [index, { type = '' }] of conditions.entries()) {
    const path = `status.conditions[${index}].type`;
    if (type === '') errors.required(path);
    if (seen.has(type)) errors.duplicate(path, type);
    seen.add(type);
  }
}
