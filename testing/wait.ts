/** Waiting for a condition in tests that work on real processes. */

export interface EventuallyOptions {
  /** Timeout in ms; 10 s by default. */
  readonly timeoutMs?: number;
  /** Polling interval in ms; 20 by default. */
  readonly intervalMs?: number;
  /** Description of the condition, for the message. */
  readonly what?: string;
}

type Nothing = false | null | undefined | 0 | '';

/** Resolves with the first truthy value of `condition`; an empty list is truthy, so check its length.
 *  An attempt that throws counts as "not yet"; its error is the cause of the final one.
 *  @throws Error on timeout */
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
  throw new Error(`timed out after ${timeoutMs} ms: ${what}`, { cause: last });
}

const isSomething = <T>(value: T): value is Exclude<T, Nothing> => Boolean(value);
