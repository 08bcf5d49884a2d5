/** Past states of a resource: the current state with the changes since undone. For the few revisions that
 *  lists are being paged at, caches which keys differ, so that each page only inspects newer changes. */
import type { CachedObject } from '../contract.ts';
import type { StoredObject } from './cached-object.ts';
import type { History } from './history.ts';
import { type Cursor, compareKeys, createOrdered, type Keyed, type Ordered } from './ordered.ts';

/** Lookup of the newest revision of a key. */
export interface Slot extends Keyed {
  current: StoredObject;
}

/** A key's value at the snapshot's revision, if it differs from the current one. */
interface Past extends Keyed {
  readonly object: CachedObject | undefined;
}

interface Snapshot {
  readonly pasts: Ordered<Past>;
  readonly byKey: Map<string, Past>;
  /** Changes up to this revision have been undone. */
  until: number;
}

/** Objects of one state, in key order. */
export interface StateView {
  after(key: string | undefined): Cursor<CachedObject>;
  /** Returns the number of keys before this one. */
  rank(key: string): number;
  readonly size: number;
}

export interface Snapshots {
  /** Returns the state at a revision that history reaches. */
  view(revision: number): StateView;
  /** Drops cached data of revisions before this one. */
  dropBefore(revision: number): void;
}

const REMEMBERED = 4;

export function newestView(slots: Ordered<Slot>): StateView {
  return {
    after(key) {
      const cursor = slots.after(key);
      return { next: () => cursor.next()?.current };
    },
    rank: (key) => slots.rank(key),
    get size() {
      return slots.size;
    },
  };
}

/** Merges two ordered sources; if both have a key, the past one counts. */
function mergedCursor(now: Cursor<Slot>, pasts: Cursor<Past>): Cursor<CachedObject> {
  let slot = now.next();
  let past = pasts.next();
  return {
    next() {
      for (;;) {
        const order = past === undefined ? -1 : slot === undefined ? 1 : compareKeys(slot.key, past.key);
        if (order < 0) {
          const found = slot?.current;
          slot = now.next();
          return found;
        }
        const found = past?.object;
        if (order === 0) slot = now.next();
        past = pasts.next();
        if (found !== undefined) return found;
      }
    },
  };
}

function pastView(slots: Ordered<Slot>, holds: (key: string) => boolean, pasts: Ordered<Past>): StateView {
  /** Returns how many more objects the snapshot has than the current state, among the keys before one. */
  function surplus(end: string | undefined): number {
    let count = 0;
    const cursor = pasts.after(undefined);
    for (let past = cursor.next(); past !== undefined; past = cursor.next()) {
      if (end !== undefined && compareKeys(past.key, end) >= 0) break;
      count += Number(past.object !== undefined) - Number(holds(past.key));
    }
    return count;
  }
  return {
    after: (key) => mergedCursor(slots.after(key), pasts.after(key)),
    rank: (key) => slots.rank(key) + surplus(key),
    get size() {
      return slots.size + surplus(undefined);
    },
  };
}

export interface SnapshotsDeps {
  readonly slots: Ordered<Slot>;
  readonly holds: (key: string) => boolean;
  readonly history: History;
}

export function createSnapshots(deps: SnapshotsDeps): Snapshots {
  const { slots, holds, history } = deps;
  const remembered = new Map<number, Snapshot>();

  function catchUp(snapshot: Snapshot): void {
    for (let index = history.indexAfter(snapshot.until); index < history.length; index += 1) {
      const change = history.at(index);
      if (change === undefined) break;
      const { key, revision } = change.current;
      snapshot.until = revision;
      if (snapshot.byKey.has(key)) continue;
      const past: Past = { key, object: change.previous };
      snapshot.byKey.set(key, past);
      snapshot.pasts.add(past);
    }
  }

  return {
    view(revision) {
      if (history.indexAfter(revision) === history.length) return newestView(slots);
      const snapshot = remembered.get(revision) ?? {
        pasts: createOrdered<Past>(),
        byKey: new Map<string, Past>(),
        until: revision,
      };
      remembered.delete(revision);
      remembered.set(revision, snapshot);
      for (const oldest of remembered.keys()) {
        if (remembered.size <= REMEMBERED) break;
        remembered.delete(oldest);
      }
      catchUp(snapshot);
      return pastView(slots, holds, snapshot.pasts);
    },
    dropBefore(revision) {
      for (const known of remembered.keys()) if (known < revision) remembered.delete(known);
    },
  };
}
