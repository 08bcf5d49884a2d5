/** Backoff of container restarts and of failed operations, by the wall clock, which may be set back. Pure.
 *  An exited container is restarted without delay the first time, then after 10 s doubling to 5 min. An exit
 *  more than 10 min after the last restart counts as the first again. */

export interface CrashBackoff {
  readonly delayMs: number;
  /** Time of the last restart. */
  readonly restartedAtMs: number;
}

const INITIAL_MS = 10_000;
const LONGEST_MS = 300_000;
const FORGET_AFTER_MS = 600_000;

function live(backoff: CrashBackoff | undefined, finishedAtMs: number): CrashBackoff | undefined {
  if (backoff === undefined) return undefined;
  return finishedAtMs - backoff.restartedAtMs > FORGET_AFTER_MS ? undefined : backoff;
}

/** Returns the delay in force for a container that exited at `finishedAtMs`, in ms. */
export function crashDelayMs(backoff: CrashBackoff | undefined, finishedAtMs: number): number {
  return live(backoff, finishedAtMs)?.delayMs ?? 0;
}

/** Returns the backoff after restarting, at `nowMs`, a container that exited at `finishedAtMs`. */
export function afterRestart(
  backoff: CrashBackoff | undefined,
  finishedAtMs: number,
  nowMs: number,
): CrashBackoff {
  const previous = live(backoff, finishedAtMs);
  const delayMs = previous === undefined ? INITIAL_MS : Math.min(previous.delayMs * 2, LONGEST_MS);
  return { delayMs, restartedAtMs: nowMs };
}

/** Upper bound of all backoffs of pods, images and containers, in ms. */
const LONGEST_WAIT_MS = 300_000;

/** Reports whether an operation that is allowed from `readyAtMs` on must still wait at `nowMs`. A time
 *  further ahead than any backoff was recorded before the clock was set back and is ignored. */
export function isBackingOff(readyAtMs: number, nowMs: number): boolean {
  return readyAtMs > nowMs && readyAtMs - nowMs <= LONGEST_WAIT_MS;
}
