/** The last changes of one resource, oldest first. Forgets from the old end; `floor` says how far back it reaches. */
import type { CacheChange } from './contract.ts';

export interface History {
  /** Every change after this revision is here. */
  readonly floor: number;
  readonly length: number;
  /** What is held for the past's sake alone, about. */
  readonly bytes: number;
  append(change: CacheChange): void;
  /** Index of the first change after the revision. */
  indexAfter(revision: number): number;
  at(index: number): CacheChange | undefined;
  /** Forgets the oldest changes, so many. */
  dropOldest(count: number): void;
  /** Forgets the changes up to the revision. */
  dropUntil(revision: number): void;
  /** Forgets everything; what happens after the revision will be known. */
  reset(floor: number): void;
}

/** A change with what it points to, without the object's bytes. */
const CHANGE_BYTES = 120;
const COMPACT_AT = 1024;

function bytesOf(change: CacheChange | undefined): number {
  return change === undefined ? 0 : CHANGE_BYTES + (change.previous?.json.length ?? 0);
}

/** What the histories of all resources hold together. */
export interface HeldBytes {
  total: number;
}

/** @param held is told of each byte that comes and goes */
export function createHistory(floorAtStart: number, maxChanges: number, held: HeldBytes): History {
  let changes: (CacheChange | undefined)[] = [];
  let head = 0;
  let floor = floorAtStart;
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
    dropUntil: (revision) => dropOldest(indexAfter(revision)),
    reset(revision) {
      changes = [];
      head = 0;
      hold(-bytes);
      floor = revision;
    },
  };
}
