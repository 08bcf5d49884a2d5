/** Retries calls of a remote service that may succeed later. Source: upstream's webhook client, release 1.24. */
import { type Clock, sleep } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import { BackendError } from './backend.ts';

export interface RetryDeps {
  readonly clock: Clock;
  readonly log: Logger;
  /** Jitter factor, 0 to 1. */
  readonly random: () => number;
}

export interface RetryOptions {
  /** A noun phrase for the log: `authorization webhook`. */
  readonly what: string;
  /** Delay before the second attempt, in ms; later ones grow. */
  readonly firstDelayMs: number;
  /** Reports whether another attempt may succeed. */
  readonly isPassing: (thrown: unknown) => boolean;
}

const ATTEMPTS = 5;
const FACTOR = 1.5;
const JITTER = 0.2;
const TOO_MANY = 429;
const SERVER_ERROR = 500;

/** Whether the service responded that it cannot respond now. */
export const isBusy = (thrown: unknown): boolean =>
  thrown instanceof BackendError && (thrown.status === TOO_MANY || thrown.status >= SERVER_ERROR);

/** Returns the result of the first attempt that succeeds. @throws what the last attempt threw */
export async function withRetries<T>(
  { clock, log, random }: RetryDeps,
  { what, firstDelayMs, isPassing }: RetryOptions,
  attempt: () => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  let delayMs = firstDelayMs;
  for (let count = 1; ; count += 1) {
    try {
      return await attempt();
    } catch (thrown) {
      if (signal.aborted || count === ATTEMPTS || !isPassing(thrown)) throw thrown;
      log.debug({ err: thrown, attempt: count }, `Failed to call ${what}; retrying`);
    }
    await sleep(clock, delayMs * (1 + JITTER * random()), signal);
    delayMs *= FACTOR;
  }
}
