/** Retention of history: by age, and by the memory that it takes in all resources together. */
import type { Clock, Timer } from '#api/kit/clock.ts';
import type { HeldBytes, History } from './history.ts';

export interface RetentionDeps {
  readonly clock: Pick<Clock, 'monotonic' | 'setTimer'>;
  readonly holders: () => Iterable<HistoryHolder>;
  readonly held: HeldBytes;
}

export interface HistoryHolder {
  readonly history: History;
  trim(drop: (history: History) => void): void;
}

export interface RetentionOptions {
  readonly maxAgeMs: number;
  readonly maxBytes: number;
}

export interface Retention {
  /** Everything up to the revision was applied just now. */
  note(revision: number): void;
  stop(): void;
}

/** The newest revision at the end of a span of time. */
interface Mark {
  readonly endMs: number;
  revision: number;
}

/** Number of marks within the maximum age. */
const MARKS = 60;
/** Share of the largest history that is dropped at a time when the budget is exceeded. */
const SHARE = 16;

export function createRetention(deps: RetentionDeps, options: RetentionOptions): Retention {
  const { clock, holders, held } = deps;
  const { maxAgeMs, maxBytes } = options;
  const spacingMs = maxAgeMs / MARKS;
  let marks: Mark[] = [];
  let timer: Timer | undefined;

  function dropOld(): void {
    const nowMs = clock.monotonic();
    const old = marks.filter(({ endMs }) => nowMs - endMs >= maxAgeMs);
    const last = old.at(-1);
    marks = marks.slice(old.length);
    if (last === undefined) return;
    for (const holder of holders()) holder.trim((history) => history.dropUntil(last.revision));
  }

  function arm(): void {
    const [oldest] = marks;
    if (timer !== undefined || oldest === undefined) return;
    timer = clock.setTimer(
      () => {
        timer = undefined;
        dropOld();
        arm();
      },
      maxAgeMs - (clock.monotonic() - oldest.endMs),
    );
  }

  function dropLargest(): void {
    while (held.total > maxBytes) {
      let largest: HistoryHolder | undefined;
      for (const holder of holders()) {
        if (holder.history.bytes > (largest?.history.bytes ?? 0)) largest = holder;
      }
      if (largest === undefined) return;
      largest.trim((history) => history.dropOldest(Math.ceil(history.length / SHARE)));
    }
  }

  return {
    note(revision) {
      dropLargest();
      const nowMs = clock.monotonic();
      const last = marks.at(-1);
      if (last !== undefined && nowMs < last.endMs) last.revision = revision;
      else marks.push({ endMs: nowMs + spacingMs, revision });
      arm();
    },
    stop() {
      timer?.cancel();
      timer = undefined;
      marks = [];
    },
  };
}
