/** Suggestions for misspelled names. Pure. */

/** Returns the number of edits (insert, delete, replace, swap neighbours) between two words, up to `limit +
 *  1`. */
function editDistance(left: string, right: string, limit: number): number {
  if (Math.abs(left.length - right.length) > limit) return limit + 1;
  let before: readonly number[] = [];
  let previous: readonly number[] = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let row = 1; row <= left.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= right.length; column += 1) {
      const same = left[row - 1] === right[column - 1];
      const replace = (previous[column - 1] ?? 0) + (same ? 0 : 1);
      let best = Math.min(replace, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1);
      const swapped = left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1];
      if (row > 1 && column > 1 && swapped) best = Math.min(best, (before[column - 2] ?? 0) + 1);
      current.push(best);
    }
    before = previous;
    previous = current;
  }
  return previous[right.length] ?? limit + 1;
}

/** Returns the nearest known word, ignoring case, if it is close enough to be a typo. */
export function suggest(word: string, known: readonly string[]): string | undefined {
  if (word.length > 64) return undefined;
  const limit = word.length <= 4 ? 1 : 2;
  const lower = word.toLowerCase();
  let best: string | undefined;
  let bestDistance = limit + 1;
  for (const candidate of known) {
    const distance = editDistance(lower, candidate.toLowerCase(), limit);
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** Returns ` (did you mean "image"?)`, or the empty string. */
export function didYouMean(word: string, known: readonly string[]): string {
  const found = suggest(word, known);
  return found === undefined ? '' : ` (did you mean ${JSON.stringify(found)}?)`;
}
