/** Comparison with references. A budget is set on one machine and measured on another; if upstream's
 *  program does the same work in the same run, its figure shows the speed of this machine, and the budget
 *  is scaled by it. Pure. */
import type { Comparison, Result, RowFacts } from './table.ts';

const round = (value: number): number => Number(value.toPrecision(4));

function comparison({ budget, limits, reference }: RowFacts, value: number, there: number): Comparison {
  const ratio = value / there;
  const least = budget / (reference?.value ?? budget);
  return {
    value: there,
    ratio: round(ratio),
    budget: round(least),
    ok: limits === 'atLeast' ? ratio >= least : ratio <= least,
  };
}

/** Returns the results, with a comparison if the reference was measured too. Rows with an error, or whose
 *  reference has one, have no comparison. */
export function withReferences(
  judged: readonly (readonly [RowFacts, Result])[],
): readonly (readonly [RowFacts, Result])[] {
  const measured = new Map(judged.map(([{ name }, result]) => [name, result]));
  return judged.map(([row, result]) => {
    const there = measured.get(row.reference?.row ?? '');
    const isSound = result.error === undefined && there?.error === undefined;
    if (!isSound || result.value === null || (there?.value ?? 0) === 0) return [row, result];
    return [row, { ...result, reference: comparison(row, result.value, there?.value ?? 0) }];
  });
}
