/** Conditions in a status. Pure. */

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly lastTransitionTime?: string;
  readonly reason?: string;
  readonly message?: string;
}

export const findCondition = <C extends Condition>(
  conditions: readonly C[] | undefined,
  type: string,
): C | undefined => conditions?.find((condition) => condition.type === type);

export const withoutCondition = <C extends Condition>(
  conditions: readonly C[] | undefined,
  type: string,
): readonly C[] => (conditions ?? []).filter((condition) => condition.type !== type);

/** The conditions with this one in place of that of its type. One that says the same stays as it is, and what does not
 *  change its status keeps the time of its last change. */
export function withCondition<C extends Condition>(
  conditions: readonly C[] | undefined,
  condition: C,
): readonly C[] {
  const current = findCondition(conditions, condition.type);
  if (current?.status === condition.status && current.reason === condition.reason) return conditions ?? [];
  const since =
    current?.status === condition.status && current.lastTransitionTime !== undefined
      ? { lastTransitionTime: current.lastTransitionTime }
      : {};
  return [...withoutCondition(conditions, condition.type), { ...condition, ...since }];
}
