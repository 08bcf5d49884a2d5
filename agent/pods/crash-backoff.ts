/** How long a container that ended waits before it is started again: at once the first time, then 10 s
 *  doubling to 5 min. An end more than 10 min after the last restart counts as the first again. Pure. */

export interface CrashBackoff {
  readonly delayMs: number;
  /** When the last restart was made. */
  readonly restartedAtMs: number;
}

const INITIAL_MS = 10_000;
const LONGEST_MS = 300_000;
const FORGET_AFTER_MS = 600_000;

function live(backoff: CrashBackoff | undefined, finishedAtMs: number): CrashBackoff | undefined {
  if (backoff === undefined) return undefined;
  return finishedAtMs - backoff.restartedAtMs > FORGET_AFTER_MS ? undefined : backoff;
}

/** The delay in force for a container that ended at `finishedAtMs`, in ms. */
export function crashDelayMs(backoff: CrashBackoff | undefined, finishedAtMs: number): number {
  return live(backoff, finishedAtMs)?.delayMs ?? 0;
}

/** The backoff after restarting, at `nowMs`, a container that ended at `finishedAtMs`. */
export function afterRestart(
  backoff: CrashBackoff | undefined,
  finishedAtMs: number,
  nowMs: number,
): CrashBackoff {
  const previous = live(backoff, finishedAtMs);
  const delayMs = previous === undefined ? INITIAL_MS : Math.min(previous.delayMs * 2, LONGEST_MS);
  return { delayMs, restartedAtMs: nowMs };
}
