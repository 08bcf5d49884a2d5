/** Change history of each resource, oldest first, and its retention. Changes are dropped from the old end; `floor` is
 *  the revision that a history reaches back to. */
import type { Clock, Timer } from '#api/kit/clock.ts';
import type { CacheChange } from '../contract.ts';

export interface History {
  /** The history contains every change after this revision. */
  readonly floor: number;
  /** States before this revision are older than the retained history, even without a change since. */
  readonly aged: number;
  readonly length: number;
  /** Estimated bytes retained only for the history. */
  readonly bytes: number;
  append(change: CacheChange): void;
  /** Returns the index of the first change after the revision. */
  indexAfter(revision: number): number;
  at(index: number): CacheChange | undefined;
  /** Drops this many of the oldest changes. */
  dropOldest(count: number): void;
  /** Drops the changes up to the revision. */
  dropUntil(revision: number): void;
  /** Drops everything; changes after the revision will be recorded. */
  reset(floor: number): void;
}

/** Size of a change with its references, without the object's bytes. */
const CHANGE_BYTES = 120;
const COMPACT_AT = 1024;

function bytesOf(change: CacheChange | undefined): number {
  return change === undefined ? 0 : CHANGE_BYTES + (change.previous?.json.length ?? 0);
}

/** Bytes retained by the histories of all resources together. */
export interface HeldBytes {
  total: number;
}

/** @param held notified of each byte added or released */
export function createHistory(floorAtStart: number, maxChanges: number, held: HeldBytes): History {
  let changes: (CacheChange | undefined)[] = [];
  let head = 0;
  let floor = floorAtStart;
  let aged = 0;
  let bytes = 0;

  function hold(more: number): void {
    bytes += more;
    held.total += more;
  }

  function dropOldest(count: number): void {
    const end = Math.min(head + count, changes.length);
    for (; head < end; head += 1) {
      const change = changes[head];
      hold(-bytesOf(change));
      if (change !== undefined) floor = Math.max(floor, change.current.revision);
      changes[head] = undefined;
    }
    if (head < COMPACT_AT || head * 2 < changes.length) return;
    changes = changes.slice(head);
    head = 0;
  }

  function indexAfter(revision: number): number {
    let low = head;
    let high = changes.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const change = changes[middle];
      if (change !== undefined && change.current.revision <= revision) low = middle + 1;
      else high = middle;
    }
    return low - head;
  }

  return {
    get floor() {
      return floor;
    },
    get aged() {
      return aged;
    },
    get length() {
      return changes.length - head;
    },
    get bytes() {
      return bytes;
    },
    append(change) {
      changes.push(change);
      hold(bytesOf(change));
      if (changes.length - head > maxChanges) dropOldest(1);
    },
    indexAfter,
    at: (index) => changes[head + index],
    dropOldest,
    dropUntil(revision) {
      dropOldest(indexAfter(revision));
      aged = Math.max(aged, revision);
    },
    reset(revision) {
      changes = [];
      head = 0;
      hold(-bytes);
      floor = revision;
      aged = 0;
    },
  };
}

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

/** Limits the histories of all resources: by age, and by the memory that they take together. */
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
