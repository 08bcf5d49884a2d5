/** Change history of one resource, oldest first. Drops changes from the old end; `floor` is the revision that
 *  it reaches back to. */
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
