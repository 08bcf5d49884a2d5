/** Suggestions for misspelled words. */

/** Returns the number of insertions, deletions, replacements and swaps of neighbours between two words. */
export function editDistance(left: string, right: string): number {
  let before: number[] = [];
  let previous: number[] = Array.from({ length: right.length + 1 }, (_, column) => column);
  for (let row = 1; row <= left.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= right.length; column += 1) {
      const same = left[row - 1] === right[column - 1];
      let cost = Math.min(
        (previous[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (previous[column - 1] ?? 0) + (same ? 0 : 1),
      );
      const swapped = left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1];
      if (row > 1 && column > 1 && swapped) cost = Math.min(cost, (before[column - 2] ?? 0) + 1);
      current.push(cost);
    }
    before = previous;
    previous = current;
  }
  return previous[right.length] ?? 0;
}

const LONGEST = 80;

/** Returns the nearest candidate if at most a third of the word's letters differ. */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  if (word.length > LONGEST) return undefined;
  const plain = word.toLowerCase();
  let best: string | undefined;
  let bestDistance = Math.max(2, Math.floor(word.length / 3)) + 1;
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - word.length) >= bestDistance) continue;
    const distance = editDistance(plain, candidate.toLowerCase());
    if (distance >= bestDistance) continue;
    best = candidate;
    bestDistance = distance;
  }
  return best;
}

/** Returns `; did you mean X?`, or an empty text. `prefix` precedes the name, such as the dashes of a
 *  flag. */
export function suggestion(word: string, candidates: Iterable<string>, prefix = ''): string {
  const found = nearest(word, candidates);
  return found === undefined ? '' : `; did you mean ${prefix}${found}?`;
}
