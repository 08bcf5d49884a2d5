/** Runs one task per key at a time: callers that arrive while it runs share its result. */
import { asError } from './errno.ts';

export interface SingleFlight<T> {
  /** Joins the task in flight for `key`, or starts `task`. A caller whose `signal` fires leaves at once
   *  with the signal's reason; the task's own signal fires only when every caller has left. */
  run(key: string, task: (signal: AbortSignal) => Promise<T>, signal?: AbortSignal): Promise<T>;
}

interface Flight<T> {
  readonly outcome: Promise<T>;
  readonly controller: AbortController;
  callers: number;
}

export function createSingleFlight<T>(): SingleFlight<T> {
  const flights = new Map<string, Flight<T>>();

  function start(key: string, task: (signal: AbortSignal) => Promise<T>): Flight<T> {
    const controller = new AbortController();
    const outcome = Promise.resolve().then(() => task(controller.signal));
    const flight: Flight<T> = { outcome, controller, callers: 0 };
    flights.set(key, flight);
    const land = (): void => {
      if (flights.get(key) === flight) flights.delete(key);
    };
    outcome.then(land, land);
    return flight;
  }

  function leave(key: string, flight: Flight<T>, reason: Error): void {
    flight.callers -= 1;
    if (flight.callers > 0) return;
    // Later callers must not join a task that is being cancelled.
    if (flights.get(key) === flight) flights.delete(key);
    flight.controller.abort(reason);
  }

  return {
    run(key, task, signal) {
      if (signal?.aborted === true) return Promise.reject(asError(signal.reason));
      const flight = flights.get(key) ?? start(key, task);
      flight.callers += 1;
      if (signal === undefined) return flight.outcome;
      return new Promise<T>((resolve, reject) => {
        const onAbort = (): void => {
          const reason = asError(signal.reason);
          reject(reason);
          leave(key, flight, reason);
        };
        signal.addEventListener('abort', onAbort, { once: true });
        flight.outcome
          .then(resolve, reject)
          .finally(() => signal.removeEventListener('abort', onAbort))
          .catch(() => undefined);
      });
    },
  };
}
