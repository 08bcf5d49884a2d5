/** Retries obtaining a certificate until it succeeds. */
import { createBackoff } from '#api/kit/backoff.ts';
import { type Clock, sleep } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import { CertificateError } from './errors.ts';

export interface PersistDeps {
  readonly clock: Clock;
  readonly log: Logger;
}

export interface Attempts<T> {
  readonly attempt: (signal: AbortSignal) => Promise<T>;
  /** Resolves when a rejected request has been deleted: retrying earlier would have the same result. */
  readonly awaitRemoval: (request: string, signal: AbortSignal) => Promise<void>;
}

const RETRY = { initialMs: 1000, maxMs: 60_000, jitter: 0.2 };

/** Rejects only with the signal's reason. */
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
      if (isPassing) log.warn({ err }, 'Failed to obtain certificate; retrying');
      else log.error({ err }, 'Failed to obtain certificate; administrator action required');
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
      log.debug(
        { err: asError(thrown), request: err.request },
        'Failed to watch rejected certificate request',
      );
    }
  }
}
