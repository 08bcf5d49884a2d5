/** Waiting for a condition in tests that work on real processes. */

export interface EventuallyOptions {
  /** Time until it gives up, in ms; 10 s unless given. */
  readonly timeoutMs?: number;
  /** Time between two looks, in ms; 20 unless given. */
  readonly intervalMs?: number;
  /** What is waited for, for the message. */
  readonly what?: string;
}

/** Resolves with the first value of `condition` that is neither false, null nor undefined.
 *  A look that throws counts as "not yet"; its error is the cause of the one at the end.
 *  @throws Error when the time is over */
export async function eventually<T>(
  condition: () => T | Promise<T>,
  options: EventuallyOptions = {},
): Promise<Exclude<T, false | null | undefined>> {
  const { timeoutMs = 10_000, intervalMs = 20 } = options;
  const deadlineMs = performance.now() + timeoutMs;
  let last: unknown;
  do {
    try {
      const value = await condition();
      if (value !== false && value !== null && value !== undefined) {
        return value as Exclude<T, false | null | undefined>;
      }
      last = undefined;
    } catch (thrown) {
      last = thrown;
    }
    await new Promise((resolve) => setTimeout(resolve, intervalMs));
  } while (performance.now() < deadlineMs);
  const what = options.what ?? condition.toString().replace(/\s+/g, ' ').slice(0, 160);
  throw new Error(`not within ${timeoutMs} ms: ${what}`, { cause: last });
}
