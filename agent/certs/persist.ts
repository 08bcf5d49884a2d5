/** Tries to get a certificate until there is one. */
import { createBackoff } from '#api/kit/backoff.ts';
import { asError, type Clock, sleep } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import { CertificateError } from './errors.ts';

export interface PersistDeps {
  readonly clock: Clock;
  readonly log: Logger;
}

export interface Attempts<T> {
  readonly attempt: (signal: AbortSignal) => Promise<T>;
  /** Until a refused request has been removed: asking again before would give the same answer. */
  readonly awaitRemoval: (request: string, signal: AbortSignal) => Promise<void>;
}

const RETRY = { initialMs: 1000, maxMs: 60_000, jitter: 0.2 };

/** Rejects with the signal's reason only. */
export async function persist<T>(
  { clock, log }: PersistDeps,
  { attempt, awaitRemoval }: Attempts<T>,
  signal: AbortSignal,
): Promise<T> {
  const backoff = createBackoff(RETRY);
  for (;;) {
    try {
      return await attempt(signal);
    } catch (thrown) {
      signal.throwIfAborted();
      const err = asError(thrown);
      const isPassing = 'retryable' in err && err.retryable === true;
      if (isPassing) log.warn({ err }, 'Certificate could not be had; it is tried again');
      else log.error({ err }, 'Certificate could not be had; somebody must act');
      const delayMs = backoff.fail('', clock.now());
      await removed(err);
      await sleep(clock, delayMs, signal);
    }
  }

  async function removed(err: Error): Promise<void> {
    if (!(err instanceof CertificateError) || err.request === undefined) return;
    if (err.reason !== 'RequestDenied' && err.reason !== 'RequestFailed') return;
    try {
      await awaitRemoval(err.request, signal);
    } catch (thrown) {
      signal.throwIfAborted();
      log.debug({ err: asError(thrown), request: err.request }, 'Refused request could not be followed');
    }
  }
}
