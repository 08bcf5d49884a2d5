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

/** Replaces the condition of the same type. An equal condition stays as it is, and without a change of status
 *  the transition time is retained. */
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
