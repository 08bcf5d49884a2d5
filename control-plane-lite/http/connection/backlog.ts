/** Disconnects slow clients: immediately when the backlog exceeds its limit, and after a while without
 *  progress. */
import type { Clock, Timer } from '#api/kit/clock.ts';

export interface BacklogLimits {
  /** Default 8 MiB. */
  readonly maxBytes?: number;
  /** Longest time without progress while bytes are queued, in ms. Default 30 s. */
  readonly stalledMs?: number;
}

export interface BacklogDeps {
  readonly clock: Clock;
  /** Number of bytes queued now. */
  readonly backlogBytes: () => number;
  readonly cut: () => void;
}

export interface BacklogGuard {
  /** Must be called after every write. */
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
      // Bytes queued now were just written; only progress from now on counts.
      takenBytes = writtenBytes - waiting;
      timer = deps.clock.setTimer(look, stalledMs);
    },
    stop() {
      timer?.cancel();
      timer = undefined;
    },
  };
}
