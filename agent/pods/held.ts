/** Waiting by the wall clock, which may be set back. Pure. */

/** No backoff of pods, images or containers is longer, in ms. */
const LONGEST_WAIT_MS = 300_000;

/** Whether it is too early at `nowMs` for what may be done from `readyAtMs` on. A time further away than any wait
 *  lasts was noted before the clock was set back, and no longer counts. */
export function isHeld(readyAtMs: number, nowMs: number): boolean {
  return readyAtMs > nowMs && readyAtMs - nowMs <= LONGEST_WAIT_MS;
}
