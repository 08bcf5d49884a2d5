/** Whether the API server can be reached, as those who talk to it find out, told once when it goes and once when it is
 *  back. Refusals are told once for each subject and message. */

import { asError, type Clock } from '#api/kit/clock.ts';
import { createListeners } from '#api/kit/listeners.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { Wait, Waits } from '#api/kit/waits.ts';
import { ApiRequestError } from './errors.ts';

export interface ServerContact {
  /** Notes a failure of a request about a subject, such as `lease`. */
  readonly failed: (subject: string, thrown: unknown) => void;
  /** Notes an answer that was none. */
  readonly succeeded: (subject: string) => void;
  /** Calls the listener when the server answers again after it did not. Returns the function that ends this. */
  readonly onReturn: (listener: () => void) => () => void;
}

export interface ServerContactDeps {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly log: Logger;
  /** Shows that the server is waited for. */
  readonly waits?: Pick<Waits, 'begin'>;
}

/** An answer by which the server says that it cannot serve now is no answer. */
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
    log.info({ awayMs }, 'API server answered again');
    listeners.notify();
  }

  return {
    failed(subject, thrown) {
      const error = asError(thrown);
      if (!isRefusal(error)) {
        if (awaySinceMs === undefined)
          log.warn({ err: error, subject }, 'API server could not be reached; pods run on');
        awaySinceMs ??= clock.monotonic();
        wait ??= waits?.begin('API server', '', { logged: true });
        wait?.because(error.message);
        return;
      }
      returned();
      if (refusals.get(subject) === error.message) return;
      refusals.set(subject, error.message);
      log.error({ err: error, subject }, 'API server refused what the agent asked');
    },
    succeeded(subject) {
      returned();
      if (refusals.delete(subject)) log.info({ subject }, 'API server took what the agent asked');
    },
    onReturn(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
