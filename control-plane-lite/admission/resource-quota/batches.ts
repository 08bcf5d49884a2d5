/** Gathers what is asked for while something like it is under way, and has it done together: whoever comes next waits
 *  for one round, not for all who came before. */

/** Answers for each item, in order: why it was refused, or `undefined`. Throws what is everybody's fault. */
export type BatchWork<T> = (key: string, items: readonly T[]) => Promise<readonly (Error | undefined)[]>;

interface Waiting<T> {
  readonly item: T;
  readonly done: (fault: Error | undefined) => void;
}

/** One round at a time for each key. Resolves when the item is done.
 *  @throws Error with which the item was refused, or that the whole round met */
export function createBatches<T>(
  work: BatchWork<T>,
  { most }: { readonly most: number },
): (key: string, item: T) => Promise<void> {
  const waiting = new Map<string, Waiting<T>[]>();

  async function runRound(key: string, round: readonly Waiting<T>[]): Promise<void> {
    try {
      const faults = await work(
        key,
        round.map(({ item }) => item),
      );
      round.forEach(({ done }, index) => done(faults[index]));
    } catch (thrown) {
      const fault = thrown instanceof Error ? thrown : new Error('the round failed', { cause: thrown });
      for (const { done } of round) done(fault);
    }
  }

  /** Until nobody waits; whoever comes meanwhile finds the key in `waiting`. */
  async function runRounds(key: string, queue: Waiting<T>[]): Promise<void> {
    while (queue.length > 0) await runRound(key, queue.splice(0, most));
    waiting.delete(key);
  }

  return (key, item) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const one: Waiting<T> = { item, done: (fault) => (fault === undefined ? resolve() : reject(fault)) };
    const queue = waiting.get(key);
    if (queue === undefined) {
      const begun = [one];
      waiting.set(key, begun);
      // Never rejects: each of the round is told.
      void runRounds(key, begun);
    } else queue.push(one);
    return promise;
  };
}
