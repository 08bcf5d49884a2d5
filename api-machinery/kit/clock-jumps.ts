/** Notices that the wall clock was set, or that the machine was suspended. No event of Node reports it, so the wall time is
 *  compared with the monotonic time every few seconds. */
import type { Clock } from './clock.ts';

/** Time between two comparisons, in ms. */
const CHECK_MS = 2000;
/** Smaller differences are corrections of a clock that runs too fast or too slowly, in ms. */
const TOLERATED_MS = 1000;

/** Calls the listener after each jump, in either direction. @returns a function that ends it */
export function onClockJump(clock: Clock, listener: () => void): () => void {
  const offsetMs = (): number => clock.now() - clock.monotonic();
  let knownMs = offsetMs();
  let timer = clock.setTimer(check, CHECK_MS);
  function check(): void {
    timer = clock.setTimer(check, CHECK_MS);
    const nextMs = offsetMs();
    const hasJumped = Math.abs(nextMs - knownMs) > TOLERATED_MS;
    knownMs = nextMs;
    if (hasJumped) listener();
  }
  return () => timer.cancel();
}
