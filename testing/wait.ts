/** Waiting for a condition in tests that work on real processes. */

export interface EventuallyOptions {
  /** Time until it gives up, in ms; 10 s unless given. */
  readonly timeoutMs?: number;
  /** Time between two looks, in ms; 20 unless given. */
  readonly intervalMs?: number;
  /** What is waited for, for the message. */
  readonly what?: string;
}

type Nothing = false | null | undefined | 0 | '';

/** Resolves with the first value of `condition` that is something: not false, null, undefined, 0 or ''.
 *  An empty list is something; ask for its length.
 *  A look that throws counts as "not yet"; its error is the cause of the one at the end.
 *  @throws Error when the time is over */
export async function eventually<T>(
  condition: () => T | Promise<T>,
  options: EventuallyOptions = {},
): Promise<Exclude<T, Nothing>> {
  const { timeoutMs = 10_000, intervalMs = 20 } = options;
  const deadlineMs = performance.now() + timeoutMs;
  let last: unknown;
  do {
    try {
      const value = await condition();
      if (isSomething(value)) return value;
      last = undefined;
    } catch (thrown) {
      last = thrown;
    }
    await new Promise((resolve) => setTimeout(resolve, intervalMs));
  } while (performance.now() < deadlineMs);
  const what = options.what ?? condition.toString().replace(/\s+/g, ' ').slice(0, 160);
  throw new Error(`not within ${timeoutMs} ms: ${what}`, { cause: last });
}

const isSomething = <T>(value: T): value is Exclude<T, Nothing> => Boolean(value);
