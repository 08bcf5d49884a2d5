/** Recent recommendations and size changes of a target. Kept in memory only, as upstream's. Pure. */

export interface Recommendation {
  readonly replicas: number;
  readonly atMs: number;
}

export interface SizeChange {
  /** Positive. */
  readonly count: number;
  readonly atMs: number;
}

export interface History {
  /** Before any limit, oldest first. */
  readonly recommendations: readonly Recommendation[];
  readonly ups: readonly SizeChange[];
  readonly downs: readonly SizeChange[];
}

/** The history of a target that is seen for the first time: its size then counts as a recommendation. */
export const startHistory = (replicas: number, nowMs: number): History => ({
  recommendations: [{ replicas, atMs: nowMs }],
  ups: [],
  downs: [],
});

/** Adds a recommendation and drops those that no window reaches any more. */
export const recommend = (
  history: History,
  { replicas, atMs }: Recommendation,
  longestWindowMs: number,
): History => ({
  ...history,
  recommendations: [
    ...history.recommendations.filter((each) => each.atMs >= atMs - longestWindowMs),
    { replicas, atMs },
  ],
});

/** Adds a size change and drops those that no policy reaches any more. */
export function resized(
  history: History,
  { from, to, atMs }: { readonly from: number; readonly to: number; readonly atMs: number },
  longestPeriodMs: number,
): History {
  const recent = (changes: readonly SizeChange[]): readonly SizeChange[] =>
    changes.filter((each) => each.atMs >= atMs - longestPeriodMs);
  const added = [{ count: Math.abs(to - from), atMs }];
  return {
    ...history,
    ups: [...recent(history.ups), ...(to > from ? added : [])],
    downs: [...recent(history.downs), ...(to < from ? added : [])],
  };
}
