/** Values that no resource has claimed, as they came from the store, and their last changes: whoever claims them gets
 *  both, so that watches begun before a restart go on. */

export interface Unclaimed {
  readonly revision: number;
  readonly bytes: Buffer;
}

export interface UnclaimedChange {
  readonly key: string;
  readonly revision: number;
  /** Absent: deleted. */
  readonly bytes: Buffer | undefined;
}

/** What is handed over to who claims a prefix. */
export interface Claimed {
  /** The state before the changes. */
  readonly items: ReadonlyMap<string, Unclaimed>;
  readonly changes: readonly UnclaimedChange[];
  /** Every change after this revision is there; absent: none is. */
  readonly floor: number | undefined;
}

export interface UnclaimedState {
  get(key: string): Unclaimed | undefined;
  keys(): Iterable<string>;
  change(change: UnclaimedChange): void;
  /** Sets the value, or takes it away, without a change. */
  replace(key: string, value: Unclaimed | undefined): void;
  /** Gives away all below the prefix. */
  take(prefix: string): Claimed;
  /** Of what is below the prefix nothing is known that was before the revision. */
  released(prefix: string, revision: number): void;
  forgetPast(revision: number): void;
}

/** As many as are read again at start (`replayWrites`). */
const MOST_CHANGES = 1000;

/** A change with what was there before. */
interface Undoable extends UnclaimedChange {
  readonly before: Unclaimed | undefined;
}

export function createUnclaimed(): UnclaimedState {
  const values = new Map<string, Unclaimed>();
  const releases = new Map<string, number>();
  let past: Undoable[] = [];
  let floor: number | undefined;

  function replace(key: string, value: Unclaimed | undefined): void {
    if (value === undefined) values.delete(key);
    else values.set(key, value);
  }

  function takeValues(prefix: string): Map<string, Unclaimed> {
    const taken = new Map<string, Unclaimed>();
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
