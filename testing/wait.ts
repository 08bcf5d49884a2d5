/** Waiting for a condition in tests that work on real processes. */

export interface EventuallyOptions {
  /** Timeout in ms on an idle machine; 10 s by default. */
  readonly timeoutMs?: number;
  /** Polling interval in ms; 20 by default. */
  readonly intervalMs?: number;
  /** Description of the condition, for the message. */
  readonly what?: string;
}

/** The timeouts of tests are those of an idle machine; a test run with other work beside it gets this many times that. A
 *  timeout only ends what hangs: a longer one makes no passing test slower. */
export const PATIENCE = 4;

type Nothing = false | null | undefined | 0 | '';

/** Resolves with the first truthy value of `condition`; an empty list is truthy, so check its length.
 *  Attempts take at most half of the time, so that a costly one does not slow down what it waits for. The last one begins
 *  after the deadline.
 *  An attempt that throws counts as "not yet"; its error is the cause of the final one.
 *  @throws Error on timeout */
export async function eventually<T>(
  condition: () => T | Promise<T>,
  options: EventuallyOptions = {},
): Promise<Exclude<T, Nothing>> {
  const { timeoutMs = 10_000, intervalMs = 20 } = options;
  const deadlineMs = performance.now() + timeoutMs * PATIENCE;
  let last: unknown;
  let isLast = false;
  do {
    const begunMs = performance.now();
    isLast = begunMs >= deadlineMs;
    try {
      const value = await condition();
      if (isSomething(value)) return value;
      last = undefined;
    } catch (thrown) {
      last = thrown;
    }
    const pauseMs = Math.max(intervalMs, performance.now() - begunMs);
    if (!isLast) await new Promise((resolve) => setTimeout(resolve, pauseMs));
  } while (!isLast);
  const what = options.what ?? condition.toString().replace(/\s+/g, ' ').slice(0, 160);
  throw new Error(`timed out after ${timeoutMs * PATIENCE} ms: ${what}`, { cause: last });
}

const isSomething = <T>(value: T): value is Exclude<T, Nothing> => Boolean(value);
