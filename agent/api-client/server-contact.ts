/** Availability of the API server as observed by its clients, logged once per outage and once per recovery.
 *  Rejections are logged once for each subject and message. */

import type { Clock } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import { createListeners } from '#api/kit/listeners.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { Wait, Waits } from '#api/kit/waits.ts';
import { ApiRequestError } from './errors.ts';

export interface ServerContact {
  /** Records a failed request about a subject, such as `lease`. */
  readonly failed: (subject: string, thrown: unknown) => void;
  /** Records a successful response. */
  readonly succeeded: (subject: string) => void;
  /** Calls the listener when the server is available again after an outage. Returns a function that ends the
   *  subscription. */
  readonly onReturn: (listener: () => void) => () => void;
}

export interface ServerContactDeps {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly log: Logger;
  /** Receives a wait during an outage. */
  readonly waits?: Pick<Waits, 'begin'>;
}

/** A response that reports a temporarily unavailable server counts as an outage. */
const isRefusal = (error: Error): error is ApiRequestError =>
  error instanceof ApiRequestError && !error.retryable;

export function createServerContact({ clock, log, waits }: ServerContactDeps): ServerContact {
  const refusals = new Map<string, string>();
  const listeners = createListeners('API server contact');
  let awaySinceMs: number | undefined;
  let wait: Wait | undefined;

  function returned(): void {
    if (awaySinceMs === undefined) return;
    const awayMs = Math.round(clock.monotonic() - awaySinceMs);
    awaySinceMs = undefined;
    wait?.end();
    wait = undefined;
    log.info({ awayMs }, 'API server available again');
    listeners.notify();
  }

  return {
    failed(subject, thrown) {
      const error = asError(thrown);
      if (!isRefusal(error)) {
        if (awaySinceMs === undefined)
          log.warn({ err: error, subject }, 'API server unavailable; pods keep running');
        awaySinceMs ??= clock.monotonic();
        wait ??= waits?.begin('API server', '', { logged: true });
        wait?.because(error.message);
        return;
      }
      returned();
      if (refusals.get(subject) === error.message) return;
      refusals.set(subject, error.message);
      log.error({ err: error, subject }, 'API server rejected request');
    },
    succeeded(subject) {
      returned();
      if (refusals.delete(subject)) log.info({ subject }, 'API server accepted request again');
    },
    onReturn(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
