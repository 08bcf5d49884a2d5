/** Batches requests that arrive while a batch of the same kind is in flight: each request waits for at most
 *  one batch, not for all earlier requests. */

/** Results per item, in order: the reason of its rejection, or `undefined`. Throws if the whole batch
 *  fails. */
export type BatchWork<T> = (key: string, items: readonly T[]) => Promise<readonly (Error | undefined)[]>;

interface Waiting<T> {
  readonly item: T;
  readonly done: (error: Error | undefined) => void;
}

/** Runs one batch at a time per key. Resolves when the item is processed. @throws Error of the item's
 *  rejection, or of the whole batch */
export function createBatches<T>(
  work: BatchWork<T>,
  { most }: { readonly most: number },
): (key: string, item: T) => Promise<void> {
  const waiting = new Map<string, Waiting<T>[]>();

  async function runRound(key: string, round: readonly Waiting<T>[]): Promise<void> {
    try {
      const errors = await work(
        key,
        round.map(({ item }) => item),
      );
      round.forEach(({ done }, index) => done(errors[index]));
    } catch (thrown) {
      const error = thrown instanceof Error ? thrown : new Error('the batch failed', { cause: thrown });
      for (const { done } of round) done(error);
    }
  }

  /** Runs until no item waits; an item that arrives meanwhile finds the key in `waiting`. */
  async function runRounds(key: string, queue: Waiting<T>[]): Promise<void> {
    while (queue.length > 0) await runRound(key, queue.splice(0, most));
    waiting.delete(key);
  }

  return (key, item) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const one: Waiting<T> = { item, done: (error) => (error === undefined ? resolve() : reject(error)) };
    const queue = waiting.get(key);
    if (queue === undefined) {
      const begun = [one];
      waiting.set(key, begun);
      // Never rejects: every item of the batch is notified.
      void runRounds(key, begun);
    } else queue.push(one);
    return promise;
  };
}
