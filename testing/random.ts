/** Reproducible random numbers: a test prints its seed, and the seed repeats the run. */

export interface Random {
  readonly seed: number;
  /** Returns a number from 0 up to, not including, 1. */
  next(): number;
  /** Returns an integer from 0 up to, not including, `below`. */
  below(below: number): number;
  /** @throws Error for an empty list */
  pick<T>(items: readonly T[]): T;
}

/** Mulberry32. The seed comes from the variable `TEST_SEED` if it is set, otherwise from the clock. */
export function createRandom(
  seed: number = Number(process.env['TEST_SEED'] ?? Date.now() % 2 ** 31),
): Random {
  let state = seed;
  function next(): number {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
  const below = (limit: number): number => Math.floor(next() * limit);
  return {
    seed,
    next,
    below,
    pick(items) {
      const item = items[below(items.length)];
      if (item === undefined) throw new Error('nothing to pick from');
      return item;
    },
  };
}
