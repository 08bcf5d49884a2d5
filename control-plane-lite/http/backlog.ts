/** Cuts off clients that don't take what is written for them: at once when too much has gathered, and after a while
 *  when nothing moves. */
import type { Clock, Timer } from '#api/kit/clock.ts';

export interface BacklogLimits {
  /** Default 8 MiB. */
  readonly maxBytes?: number;
  /** Longest time without any progress while something waits. Default 30 s. */
  readonly stalledMs?: number;
}

export interface BacklogDeps {
  readonly clock: Clock;
  /** Bytes that wait at this moment. */
  readonly backlogBytes: () => number;
  readonly cut: () => void;
}

export interface BacklogGuard {
  /** To be called after every write. */
  wrote(bytes: number): void;
  stop(): void;
}

export function createBacklogGuard(deps: BacklogDeps, limits: BacklogLimits = {}): BacklogGuard {
  const { maxBytes = 8 * 1024 * 1024, stalledMs = 30_000 } = limits;
  let writtenBytes = 0;
  let takenBytes = 0;
  let timer: Timer | undefined;

  function look(): void {
    timer = undefined;
    const waiting = deps.backlogBytes();
    const taken = writtenBytes - waiting;
    if (waiting === 0) return;
    if (taken <= takenBytes) return deps.cut();
    takenBytes = taken;
    timer = deps.clock.setTimer(look, stalledMs);
  }

  return {
    wrote(bytes) {
      writtenBytes += bytes;
      const waiting = deps.backlogBytes();
      if (waiting > maxBytes) return deps.cut();
      if (waiting === 0 || timer !== undefined) return;
      // What is taken from now on counts; what waits now was just written.
      takenBytes = writtenBytes - waiting;
      timer = deps.clock.setTimer(look, stalledMs);
    },
    stop() {
      timer?.cancel();
      timer = undefined;
    },
  };
}
