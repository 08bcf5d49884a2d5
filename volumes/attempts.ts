/** Attempts to make volumes ready: one at a time for a volume, held back exponentially after failures. One that hangs
 *  goes on in the background, and whoever asks meanwhile waits for it instead of beginning another.
 *  Source: upstream's delays between operations on a volume, and its patience with a pod's volumes, release 1.24. */
import { type Backoff, createBackoff } from '#api/kit/backoff.ts';
import { asError, type Clock, sleep } from '#api/kit/clock.ts';
import { VolumeSetupError } from './setup-error.ts';

export interface Attempts {
  /** Makes an attempt, or joins the one under way. Waits as long as a pod waits for its volumes.
   *  @throws VolumeSetupError while a failure holds the volume back, or when it takes too long; what `task` throws */
  run(
    podUID: string,
    name: string,
    task: (signal: AbortSignal) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void>;
  /** Lets what failed be tried at once. */
  retry(podUID: string): void;
  /** Aborts what is under way for the pod, forgets its failures, and tells what is still under way. */
  stop(podUID: string): readonly string[];
}

const DELAYS = { initialMs: 500, maxMs: 122_000, resetAfterMs: Number.POSITIVE_INFINITY } as const;
export const PATIENCE_MS = 123_000;

interface PodAttempts {
  readonly backoff: Backoff;
  readonly failures: Map<string, { readonly error: Error; readonly readyAtMs: number }>;
  readonly underWay: Map<string, Promise<void>>;
  abort: AbortController;
}

/** `500 ms`, `8 s` or `1 min 4 s`. */
export function formatDelay(delayMs: number): string {
  if (delayMs < 1000) return `${delayMs} ms`;
  const seconds = Math.round(delayMs / 1000);
  if (seconds < 120) return `${seconds} s`;
  const rest = seconds % 60;
  return `${Math.floor(seconds / 60)} min${rest === 0 ? '' : ` ${rest} s`}`;
}

/** The failure with the word of when the next try is. */
function heldBack(error: Error, delayMs: number): Error {
  return new VolumeSetupError(`${error.message} (next try in ${formatDelay(delayMs)})`, { cause: error });
}

/** The work's result, or what `late` makes when it takes longer; the work goes on. */
export async function within<T>(
  clock: Clock,
  { limitMs, late }: { readonly limitMs: number; readonly late: () => Error },
  work: Promise<T>,
): Promise<T> {
  const enough = new AbortController();
  const lapse = sleep(clock, limitMs, enough.signal).then(() => {
    throw late();
  });
  lapse.catch(() => undefined);
  work.catch(() => undefined);
  try {
    return await Promise.race([work, lapse]);
  } finally {
    enough.abort(new Error('it has ended'));
  }
}

export function createAttempts({ clock }: { readonly clock: Clock }): Attempts {
  const pods = new Map<string, PodAttempts>();

  function podOf(podUID: string): PodAttempts {
    const known = pods.get(podUID);
    if (known !== undefined) return known;
    const made: PodAttempts = {
      backoff: createBackoff(DELAYS),
      failures: new Map(),
      underWay: new Map(),
      abort: new AbortController(),
    };
    pods.set(podUID, made);
    return made;
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
      const delayMs = pod.backoff.fail(name, nowMs);
      const error = heldBack(asError(thrown), delayMs);
      pod.failures.set(name, { error, readyAtMs: nowMs + delayMs });
      throw error;
    } finally {
      pod.underWay.delete(name);
    }
  }

  return {
    run(podUID, name, task, signal) {
      const pod = podOf(podUID);
      const failure = pod.failures.get(name);
      if (failure !== undefined && clock.monotonic() < failure.readyAtMs)
        return Promise.reject(failure.error);
      let work = pod.underWay.get(name);
      if (work === undefined) {
        work = attempt(pod, name, task, AbortSignal.any([signal, pod.abort.signal]));
        pod.underWay.set(name, work);
      }
      const late = (): Error =>
        new VolumeSetupError(`is not ready after ${formatDelay(PATIENCE_MS)}; it is still being worked on`);
      return within(clock, { limitMs: PATIENCE_MS, late }, work);
    },
    retry(podUID) {
      const pod = pods.get(podUID);
      pod?.failures.clear();
    },
    stop(podUID) {
      const pod = pods.get(podUID);
      if (pod === undefined) return [];
      pod.abort.abort(new Error('the pod is being removed'));
      if (pod.underWay.size === 0) pods.delete(podUID);
      return [...pod.underWay.keys()];
    },
  };
}
