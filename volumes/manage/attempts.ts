/** Attempts to set up volumes: one at a time per volume, with exponential backoff after failures. An attempt
 *  that hangs continues in the background, and later callers join it instead of starting another.
 *  Source: upstream's backoff of volume operations and its timeout for a pod's volumes, release 1.24. */
import { type Backoff, createBackoff } from '#api/kit/backoff.ts';
import type { Clock } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import { VolumeTimeoutError } from '../errors/setup-error.ts';

export interface Attempts {
  /** Starts an attempt, or joins the one in flight. Waits as long as a pod waits for its volumes.
   *  @throws the error of `task`, also during the backoff after that failure; VolumeTimeoutError on timeout */
  run(
    podUID: string,
    name: string,
    task: (signal: AbortSignal) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void>;
  /** Resets the backoff of failed attempts. */
  retry(podUID: string): void;
  /** Returns the remaining backoff of these volumes in ms, until the first of them may be retried. */
  backoffMs(podUID: string, names: readonly string[]): number;
  /** Aborts attempts of the pod, forgets its failures, and returns the attempts still in flight. */
  stop(podUID: string): readonly string[];
}

const DELAYS = { initialMs: 500, maxMs: 122_000, resetAfterMs: Number.POSITIVE_INFINITY } as const;
export const TIMEOUT_MS = 123_000;

interface PodAttempts {
  readonly backoff: Backoff;
  readonly failures: Map<string, { readonly error: Error; readonly readyAtMs: number }>;
  readonly inFlight: Map<string, Promise<void>>;
  readonly abort: AbortController;
  /** Signals of callers, each joined with the pod's own once for all volumes. */
  readonly joined: WeakMap<AbortSignal, AbortSignal>;
}

/** Returns `500 ms`, `8 s` or `1 min 4 s`. */
export function formatDelay(delayMs: number): string {
  if (delayMs < 1000) return `${delayMs} ms`;
  const seconds = Math.round(delayMs / 1000);
  if (seconds < 120) return `${seconds} s`;
  const rest = seconds % 60;
  return `${Math.floor(seconds / 60)} min${rest === 0 ? '' : ` ${rest} s`}`;
}

/** Returns the result of the work, or that of `late` on timeout; the work continues. */
export function within<T>(
  clock: Clock,
  { limitMs, late }: { readonly limitMs: number; readonly late: () => Error },
  work: Promise<T>,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = clock.setTimer(() => reject(late()), limitMs);
    const inTime =
      <A>(settle: (result: A) => void) =>
      (result: A): void => {
        timer.cancel();
        settle(result);
      };
    work.then(inTime(resolve), inTime(reject));
  });
}

function joinedSignal({ abort, joined }: PodAttempts, signal: AbortSignal): AbortSignal {
  const known = joined.get(signal);
  if (known !== undefined) return known;
  const created = AbortSignal.any([signal, abort.signal]);
  joined.set(signal, created);
  return created;
}

export function createAttempts({ clock }: { readonly clock: Clock }): Attempts {
  const pods = new Map<string, PodAttempts>();

  function podOf(podUID: string): PodAttempts {
    const known = pods.get(podUID);
    if (known !== undefined) return known;
    const created: PodAttempts = {
      backoff: createBackoff(DELAYS),
      failures: new Map(),
      inFlight: new Map(),
      abort: new AbortController(),
      joined: new WeakMap(),
    };
    pods.set(podUID, created);
    return created;
  }

  async function attempt(
    pod: PodAttempts,
    name: string,
    task: (signal: AbortSignal) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    try {
      await task(signal);
      pod.backoff.reset(name);
      pod.failures.delete(name);
    } catch (thrown) {
      if (signal.aborted) throw thrown;
      const nowMs = clock.monotonic();
      const error = asError(thrown);
      pod.failures.set(name, { error, readyAtMs: nowMs + pod.backoff.fail(name, nowMs) });
      throw error;
    } finally {
      pod.inFlight.delete(name);
    }
  }

  return {
    run(podUID, name, task, signal) {
      const pod = podOf(podUID);
      const failure = pod.failures.get(name);
      if (failure !== undefined && clock.monotonic() < failure.readyAtMs)
        return Promise.reject(failure.error);
      let work = pod.inFlight.get(name);
      if (work === undefined) {
        work = attempt(pod, name, task, joinedSignal(pod, signal));
        pod.inFlight.set(name, work);
      }
      const late = (): Error =>
        new VolumeTimeoutError(
          `is not ready after ${formatDelay(TIMEOUT_MS)}; setup continues in the background`,
        );
      return within(clock, { limitMs: TIMEOUT_MS, late }, work);
    },
    retry(podUID) {
      const pod = pods.get(podUID);
      pod?.failures.clear();
    },
    backoffMs(podUID, names) {
      const failures = pods.get(podUID)?.failures;
      const readyAtMs = names.map((name) => failures?.get(name)?.readyAtMs).filter((ms) => ms !== undefined);
      return readyAtMs.length === 0 ? 0 : Math.max(0, Math.min(...readyAtMs) - clock.monotonic());
    },
    stop(podUID) {
      const pod = pods.get(podUID);
      if (pod === undefined) return [];
      pod.abort.abort(new Error('the pod is being removed'));
      if (pod.inFlight.size === 0) pods.delete(podUID);
      return [...pod.inFlight.keys()];
    },
  };
}
