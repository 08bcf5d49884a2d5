/** Returns the value at or below which the given share of the values is. @throws RangeError for an empty
 *  list */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const value = sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
  if (value === undefined) throw new RangeError('percentile of nothing');
  return value;
}
