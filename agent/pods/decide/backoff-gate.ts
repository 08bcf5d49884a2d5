/** Backoff gate by the wall clock, which may be set back. Pure. */

/** Upper bound of all backoffs of pods, images and containers, in ms. */
const LONGEST_WAIT_MS = 300_000;

/** Reports whether an operation that is allowed from `readyAtMs` on must still wait at `nowMs`. A time
 *  further ahead than any backoff was recorded before the clock was set back and is ignored. */
export function isBackingOff(readyAtMs: number, nowMs: number): boolean {
  return readyAtMs > nowMs && readyAtMs - nowMs <= LONGEST_WAIT_MS;
}
