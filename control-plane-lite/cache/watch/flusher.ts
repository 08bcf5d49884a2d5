/** Schedules writes to watchers. Writing to many costs by the write more than by the byte, so under load the
 *  changes of several turns of the event loop share one round of writes; a single change is written
 *  immediately. */
import type { Clock } from '#api/kit/clock.ts';

export interface Flushable {
  flush(): void;
}

/** Rounds take a tenth of the time at most, unless changes would then wait longer than `MAX_WAIT_MS`. */
const SHARE = 10;
const MAX_WAIT_MS = 40;

/** Returns the function that requests a flush. All requests are served together in one later turn: the next
 *  one, or `everyMs` after the start of the last round, or later if that round took long.
 *  @param defer runs a task in the next turn */
export function createFlusher(
  clock: Pick<Clock, 'monotonic' | 'setTimer'>,
  everyMs: number,
  defer: (task: () => void) => void,
): (flushable: Flushable) => void {
  let due = new Set<Flushable>();
  let nextMs = Number.NEGATIVE_INFINITY;

  function flush(): void {
    const beganMs = clock.monotonic();
    const round = due;
    due = new Set();
    for (const flushable of round) flushable.flush();
    const tookMs = clock.monotonic() - beganMs;
    nextMs = beganMs + Math.min(Math.max(everyMs, tookMs * SHARE), Math.max(everyMs, MAX_WAIT_MS));
  }

  return (flushable) => {
    if (due.size === 0) {
      const waitMs = nextMs - clock.monotonic();
      if (waitMs > 1) clock.setTimer(flush, waitMs);
      else defer(flush);
    }
    due.add(flushable);
  };
}
