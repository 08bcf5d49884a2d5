/** Conditions of flow schemas and priority levels. Source: flowcontrol/v1beta2. */
import type { Faults } from '#api/schema/validation/faults.ts';

interface Condition {
  readonly type?: string;
}

/** Reports every error of the list, which has each type once. */
export function validateFlowConditions(faults: Faults, conditions: readonly Condition[]): void {
  const seen = new Set<string>();
  for (const [index, { type = '' }] of conditions.entries()) {
    const path = `status.conditions[${index}].type`;
    if (type === '') faults.required(path);
    if (seen.has(type)) faults.duplicate(path, type);
    seen.add(type);
  }
}
