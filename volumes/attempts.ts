/** Attempts to make volumes ready: one at a time for a volume, held back exponentially after failures. One that hangs
 *  goes on in the background, and whoever asks meanwhile waits for it instead of beginning another.
 *  Source: upstream's delays between operations on a volume, and its patience with a pod's volumes, release 1.24. */
import { type Backoff, createBackoff } from '#api/kit/backoff.ts';
import { asError, type Clock } from '#api/kit/clock.ts';
import { VolumeSetupError } from './setup-error.ts';

export interface Attempts {
  /** Makes an attempt, or joins the one under way. Waits as long as a pod waits for its volumes.
   *  @throws what `task` throws, and again the same while that failure holds the volume back; VolumeSetupError when it
   *  takes too long */
  run(
    podUID: string,
    name: string,
    task: (signal: AbortSignal) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void>;
  /** Lets what failed be tried at once. */
  retry(podUID: string): void;
  /** How long those of these that failed are held back yet, in ms: until the first may be tried again. */
  heldBackMs(podUID: string, names: readonly string[]): number;
  /** Aborts what is under way for the pod, forgets its failures, and tells what is still under way. */
  stop(podUID: string): readonly string[];
}

const DELAYS = { initialMs: 500, maxMs: 122_000, resetAfterMs: Number.POSITIVE_INFINITY } as const;
export const PATIENCE_MS = 123_000;

interface PodAttempts {
  readonly backoff: Backoff;
  readonly failures: Map<string, { readonly error: Error; readonly readyAtMs: number }>;
  readonly underWay: Map<string, Promise<void>>;
  readonly abort: AbortController;
  /** The signals of those who ask, each joined with the pod's own: once for all volumes. */
  readonly joined: WeakMap<AbortSignal, AbortSignal>;
}

/** `500 ms`, `8 s` or `1 min 4 s`. */
export function formatDelay(delayMs: number): string {
  if (delayMs < 1000) return `${delayMs} ms`;
  const seconds = Math.round(delayMs / 1000);
  if (seconds < 120) return `${seconds} s`;
  const rest = seconds % 60;
  return `${Math.floor(seconds / 60)} min${rest === 0 ? '' : ` ${rest} s`}`;
}

/** The work's result, or what `late` makes when it takes longer; the work goes on. */
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
  const made = AbortSignal.any([signal, abort.signal]);
  joined.set(signal, made);
  return made;
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
      joined: new WeakMap(),
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
      const error = asError(thrown);
      pod.failures.set(name, { error, readyAtMs: nowMs + pod.backoff.fail(name, nowMs) });
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
        work = attempt(pod, name, task, joinedSignal(pod, signal));
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
    heldBackMs(podUID, names) {
      const failures = pods.get(podUID)?.failures;
      const readyAtMs = names.map((name) => failures?.get(name)?.readyAtMs).filter((ms) => ms !== undefined);
      return readyAtMs.length === 0 ? 0 : Math.max(0, Math.min(...readyAtMs) - clock.monotonic());
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
