/** Length of the tests that act at random moments or on random input: `npm test` runs a short round of each and
 *  `npm run test:long`, which sets `TEST_ROUNDS=long`, a long one. The counts are beside the tests. `TEST_SEED`
 *  repeats the random choices of either. */
import type { Random } from './random.ts';

const LENGTHS = ['short', 'long'] as const;
type Length = (typeof LENGTHS)[number];

/** A value of `TEST_ROUNDS` that has no meaning. */
export class UnknownRoundError extends Error {
  override readonly name = 'UnknownRoundError';
  constructor(value: string) {
    super(`TEST_ROUNDS is "${value}", and must be one of: ${LENGTHS.join(', ')}`);
  }
}

/** @throws UnknownRoundError */
export function parseLength(value: string | undefined): Length {
  const length = LENGTHS.find((each) => each === (value ?? 'short'));
  if (length === undefined) throw new UnknownRoundError(value ?? '');
  return length;
}

/** Returns the value for this run. */
export function ofRound<T>(values: Readonly<Record<Length, T>>): T {
  return values[parseLength(process.env['TEST_ROUNDS'])];
}

/** Returns `count` of the items in their order, or all if there are fewer. */
export function sample<T>(items: Iterable<T>, count: number, random: Random): readonly T[] {
  const all = [...items];
  let missing = count;
  return all.filter((_, index) => {
    const isTaken = random.below(all.length - index) < missing;
    if (isTaken) missing -= 1;
    return isTaken;
  });
}
