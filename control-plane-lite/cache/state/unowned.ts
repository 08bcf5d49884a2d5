/** Unowned values, as read from the store, and their last changes. A resource that claims a prefix gets both,
 *  so that watches from before a restart resume. */

export interface Unowned {
  readonly revision: number;
  readonly bytes: Buffer;
}

export interface UnownedChange {
  readonly key: string;
  readonly revision: number;
  /** Absent: deleted. */
  readonly bytes: Buffer | undefined;
}

/** Data handed to the claimant of a prefix. */
export interface Claimed {
  /** The state before the changes. */
  readonly items: ReadonlyMap<string, Unowned>;
  readonly changes: readonly UnownedChange[];
  /** Every change after this revision is included; absent: none is. */
  readonly floor: number | undefined;
}

export interface UnownedState {
  get(key: string): Unowned | undefined;
  keys(): Iterable<string>;
  change(change: UnownedChange): void;
  /** Sets or removes the value, without recording a change. */
  replace(key: string, value: Unowned | undefined): void;
  /** Hands over everything below the prefix. */
  take(prefix: string): Claimed;
  /** Nothing is known of the keys below the prefix before the revision. */
  released(prefix: string, revision: number): void;
  forgetPast(revision: number): void;
}

/** As many as are replayed at start (`replayWrites`). */
const MOST_CHANGES = 1000;

/** A change with the value before it. */
interface Undoable extends UnownedChange {
  readonly before: Unowned | undefined;
}

export function createUnowned(): UnownedState {
  const values = new Map<string, Unowned>();
  const releases = new Map<string, number>();
  let past: Undoable[] = [];
  let floor: number | undefined;

  function replace(key: string, value: Unowned | undefined): void {
    if (value === undefined) values.delete(key);
    else values.set(key, value);
  }

  function takeValues(prefix: string): Map<string, Unowned> {
    const taken = new Map<string, Unowned>();
    for (const [key, value] of values) if (key.startsWith(prefix)) taken.set(key, value);
    for (const key of taken.keys()) values.delete(key);
    return taken;
  }

  function takeFloor(prefix: string): number | undefined {
    const release = releases.get(prefix);
    releases.delete(prefix);
    return floor === undefined || release === undefined ? floor : Math.max(floor, release);
  }

  return {
    get: (key) => values.get(key),
    keys: () => values.keys(),
    change({ key, revision, bytes }) {
      past.push({ key, revision, bytes, before: values.get(key) });
      if (past.length >= 2 * MOST_CHANGES) {
        floor = past[MOST_CHANGES - 1]?.revision ?? floor;
        past = past.slice(MOST_CHANGES);
      }
      replace(key, bytes === undefined ? undefined : { revision, bytes });
    },
    replace,
    take(prefix) {
      const items = takeValues(prefix);
      const changes = past.filter(({ key }) => key.startsWith(prefix));
      if (changes.length > 0) past = past.filter(({ key }) => !key.startsWith(prefix));
      for (const { key, before } of changes.toReversed()) {
        if (before === undefined) items.delete(key);
        else items.set(key, before);
      }
      return { items, changes, floor: takeFloor(prefix) };
    },
    released: (prefix, revision) => void releases.set(prefix, revision),
    forgetPast(revision) {
      past = [];
      releases.clear();
      floor = revision;
    },
  };
}
