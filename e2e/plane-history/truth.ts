/** The total order of changes with which a history must be consistent, and queries on it. */
import type { EventType, Key, Seen, Version, Write } from './history.ts';

export interface Change {
  readonly type: EventType;
  readonly version: Version;
  /** The previous state. */
  readonly previous: Version | undefined;
}

/** Version of a key in a range of revisions; `undefined`: absent. */
export interface Span {
  readonly from: number;
  /** Exclusive. */
  readonly to: number;
  readonly version: Version | undefined;
}

export interface Truth {
  /** By rising revision. */
  readonly changes: readonly Change[];
  spans(key: Key): readonly Span[];
  /** The newest revision that can have been there at that time. */
  ceiling(atMs: number): number;
}

/** `before` is what was there when they began. */
export function changesOf(
  seen: readonly Seen[],
  before: readonly Version[],
  errors: string[],
): readonly Change[] {
  const current = new Map(before.map((version) => [version.key, version]));
  const changes: Change[] = before
    .toSorted((a, b) => a.revision - b.revision)
    .map((version) => ({ type: 'ADDED', version, previous: undefined }));
  let last = 0;
  for (const each of seen) {
    if (each.kind === 'bookmark') continue;
    const { type, version } = each;
    const { key, revision } = version;
    if (revision <= last) errors.push(`witness: ${type} ${key} at ${revision} came after ${last}`);
    last = revision;
    const previous = current.get(key);
    if ((type === 'ADDED') !== (previous === undefined)) {
      errors.push(`witness: ${type} ${key} at ${revision}, before it ${previous?.revision ?? 'nothing'}`);
    }
    changes.push({ type, version, previous });
    if (type === 'DELETED') current.delete(key);
    else current.set(key, version);
  }
  return changes;
}

export function createTruth(changes: readonly Change[], writes: readonly Write[]): Truth {
  const spans = spansOf(changes);
  const began = new Map(writes.map(({ id, beganMs }) => [id, beganMs]));
  // Who deleted isn't always known: such a revision may have been there at any time.
  const beganAt = changes.map(({ type, version }) =>
    type === 'DELETED' ? 0 : (began.get(version.value.data['last'] ?? '') ?? 0),
  );
  const latest: number[] = [];
  for (const time of beganAt) latest.push(Math.max(latest.at(-1) ?? 0, time));
  return {
    changes,
    spans: (key) => spans.get(key) ?? [{ from: 0, to: Number.POSITIVE_INFINITY, version: undefined }],
    ceiling(atMs) {
      const first = firstIndex(latest, (time) => time >= atMs);
      return (changes[first]?.version.revision ?? Number.POSITIVE_INFINITY) - 1;
    },
  };
}

function spansOf(changes: readonly Change[]): ReadonlyMap<Key, readonly Span[]> {
  const open = new Map<Key, { spans: Span[]; from: number; version: Version | undefined }>();
  for (const { type, version } of changes) {
    const { key, revision } = version;
    const state = open.get(key) ?? { spans: [], from: 0, version: undefined };
    state.spans.push({ from: state.from, to: revision, version: state.version });
    open.set(key, { spans: state.spans, from: revision, version: type === 'DELETED' ? undefined : version });
  }
  return new Map(
    [...open].map(([key, { spans, from, version }]) => [
      key,
      [...spans, { from, to: Number.POSITIVE_INFINITY, version }],
    ]),
  );
}

/** Of a list that has first those that don't match, then those that do. */
export function firstIndex<T>(items: readonly T[], matches: (item: T) => boolean): number {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const item = items[middle];
    if (item !== undefined && matches(item)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Returns the versions of the key from `floor` to `ceiling`. */
export function possible(
  truth: Truth,
  key: Key,
  floor: number,
  ceiling: number,
): readonly (Version | undefined)[] {
  return truth
    .spans(key)
    .filter(({ from, to }) => to > floor && from <= ceiling)
    .map(({ version }) => version);
}
