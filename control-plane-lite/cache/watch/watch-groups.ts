/** Groups of current watchers with the same selection and encoding: the bytes of a turn of the event loop are
 *  created once per group and written once to each member. An index finds the groups that a change may affect.
 *  Bookmarks are sent about once a minute. Source: watch events, document 1 §4.5; upstream for objects that enter or
 *  leave a selection. */
import type { Timer } from '#api/kit/clock.ts';
import type { ByteSink, CacheChange, CachedObject, EventEncoder, WatchOptions } from '../contract.ts';
import { RestampedObject } from '../state/cached-object.ts';
import { type Matcher, type NamedSelection, selectionId } from '../state/selection.ts';

/** Returns the bytes of one change's event; `undefined` if the selection doesn't see it. An object that
 *  leaves the selection is shown as deleted: in its last selected state, with the revision of the change. */
export function encodeChange(
  change: CacheChange,
  matches: Matcher | undefined,
  encoder: EventEncoder,
): Buffer | undefined {
  const { type, current, previous } = change;
  if (matches === undefined) return encoder.encode(type, current);
  const isSelected = type !== 'DELETED' && matches(current);
  const wasSelected = previous !== undefined && matches(previous);
  if (isSelected) return encoder.encode(wasSelected ? 'MODIFIED' : 'ADDED', current);
  if (!wasSelected) return undefined;
  return encoder.encode(
    'DELETED',
    type === 'DELETED' ? current : new RestampedObject(previous, current.revision),
  );
}

export function joinBytes(parts: readonly Buffer[]): Buffer {
  return parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts);
}

/** Returns the bytes of several changes' events, concatenated. */
function encodeChanges(
  changes: readonly CacheChange[],
  matches: Matcher | undefined,
  encoder: EventEncoder,
): Buffer {
  const parts: Buffer[] = [];
  for (const change of changes) {
    const bytes = encodeChange(change, matches, encoder);
    if (bytes !== undefined) parts.push(bytes);
  }
  return joinBytes(parts);
}

export interface Watcher {
  readonly options: WatchOptions;
  readonly encoder: EventEncoder;
  readonly matches: Matcher | undefined;
  readonly sink: ByteSink;
  /** Everything up to here was written before it joined, or is not needed. */
  position: number;
  closed: boolean;
  group: WatchGroup | undefined;
}

export interface WatchGroup {
  readonly id: string;
  readonly options: WatchOptions;
  readonly matches: Matcher | undefined;
  readonly encoder: EventEncoder;
  readonly members: Set<Watcher>;
  timer: Timer | undefined;
}

export interface WatchGroupsDeps {
  readonly revision: () => number;
  /** `readers`: number of watchers that get this very buffer. */
  readonly write: (watcher: Watcher, bytes: Buffer, readers: number) => void;
  /** Schedules `flush` soon. */
  readonly schedule: () => void;
  readonly setTimer: (fire: () => void, delayMs: number) => Timer;
  readonly random: () => number;
}

export interface WatchGroups {
  readonly isEmpty: boolean;
  members(): Iterable<Watcher>;
  join(watcher: Watcher): void;
  leave(watcher: Watcher): void;
  /** Writes the events of these changes and, if those are all, the bookmarks that are due. */
  flush(changes: readonly CacheChange[], all: boolean): void;
  /** Returns the bytes of one member's next flush, and its last bookmark. */
  lastBytes(watcher: Watcher, changes: readonly CacheChange[]): Buffer;
}

const BOOKMARK_MS = 60_000;
/** Random variation of the interval, as a share of it. */
const BOOKMARK_JITTER = 0.1;

/** Returns the bytes for a member that joined in between, or that starts at a future revision. */
function ownBytes(watcher: Watcher, changes: readonly CacheChange[]): Buffer {
  const later = changes.filter((change) => change.current.revision > watcher.position);
  return encodeChanges(later, watcher.matches, watcher.encoder);
}

function newGroup(id: string, { options, matches, encoder }: Watcher): WatchGroup {
  return { id, options, matches, encoder, members: new Set(), timer: undefined };
}

function* membersOf(groups: Iterable<WatchGroup>): Iterable<Watcher> {
  for (const group of groups) yield* group.members;
}

export function createWatchGroups(deps: WatchGroupsDeps): WatchGroups {
  const groups = new Map<string, WatchGroup>();
  const lanes = createWatchLanes<WatchGroup>();
  const bookmarksDue = new Set<WatchGroup>();

  function scheduleBookmark(group: WatchGroup): void {
    const delayMs = BOOKMARK_MS * (1 + BOOKMARK_JITTER * (2 * deps.random() - 1));
    group.timer = deps.setTimer(() => {
      bookmarksDue.add(group);
      scheduleBookmark(group);
      deps.schedule();
    }, delayMs);
  }

  function flushGroup(group: WatchGroup, changes: readonly CacheChange[], bookmarks: boolean): void {
    const revision = deps.revision();
    const first = changes[0]?.current.revision ?? Number.POSITIVE_INFINITY;
    const shared = encodeChanges(changes, group.matches, group.encoder);
    const mark = bookmarks ? group.encoder.bookmark(revision, false) : undefined;
    const marked = mark === undefined ? shared : Buffer.concat([shared, mark]);
    if (bookmarks) bookmarksDue.delete(group);
    for (const watcher of group.members) {
      const marks = mark !== undefined && watcher.options.bookmarks && watcher.position <= revision;
      if (watcher.position < first) deps.write(watcher, marks ? marked : shared, group.members.size);
      else {
        const own = ownBytes(watcher, changes);
        deps.write(watcher, marks ? Buffer.concat([own, mark]) : own, 1);
      }
    }
  }

  return {
    get isEmpty() {
      return groups.size === 0;
    },
    members: () => membersOf(groups.values()),
    join(watcher) {
      const id = `${selectionId(watcher.options)} ${watcher.encoder.id}`;
      const known = groups.get(id);
      const group = known ?? newGroup(id, watcher);
      if (known === undefined) {
        groups.set(id, group);
        lanes.add(group.options, group);
      }
      group.members.add(watcher);
      watcher.group = group;
      if (watcher.options.bookmarks && group.timer === undefined) scheduleBookmark(group);
    },
    leave(watcher) {
      const { group } = watcher;
      if (group === undefined) return;
      watcher.group = undefined;
      group.members.delete(watcher);
      if (group.members.size > 0) return;
      group.timer?.cancel();
      groups.delete(group.id);
      lanes.remove(group.options, group);
      bookmarksDue.delete(group);
    },
    flush(changes, all) {
      const concerned = lanes.sort(changes);
      if (all) for (const group of bookmarksDue) if (!concerned.has(group)) concerned.set(group, []);
      for (const [group, own] of concerned) flushGroup(group, own, all && bookmarksDue.has(group));
    },
    lastBytes(watcher, changes) {
      const own = ownBytes(watcher, changes);
      const revision = deps.revision();
      if (!watcher.options.bookmarks || watcher.position > revision) return own;
      return Buffer.concat([own, watcher.encoder.bookmark(revision, false)]);
    },
  };
}

/** A property that all objects of a selection share: a field with a value, or the key. */
interface Lane {
  /** Absent: the key. */
  readonly field: string | undefined;
  readonly value: string;
}

/** Index of watches by the values they select. Of a thousand watches on the pods of one node each, a change of a pod
 *  affects one or two. */
export interface WatchLanes<T> {
  add(selection: NamedSelection, member: T): void;
  remove(selection: NamedSelection, member: T): void;
  /** Returns the watches that any of the changes may affect, each with these changes, in order. */
  sort(changes: readonly CacheChange[]): Map<T, readonly CacheChange[]>;
}

function laneOf({ namespace = '', name, fields }: NamedSelection): Lane | undefined {
  if (name !== undefined) {
    return { field: undefined, value: namespace === '' ? name : `${namespace}/${name}` };
  }
  const first = fields.find(({ equal }) => equal);
  return first && { field: first.field, value: first.value };
}

const valueOf = (field: string | undefined, { key, fields }: CachedObject): string =>
  field === undefined ? key : (fields[field] ?? '');

export function createWatchLanes<T>(): WatchLanes<T> {
  /** Watches that any change may affect. */
  const everywhere = new Set<T>();
  const lanes = new Map<string | undefined, Map<string, Set<T>>>();

  function collect(change: CacheChange, found: Map<T, CacheChange[]>): void {
    for (const [field, members] of lanes) {
      const now = valueOf(field, change.current);
      const before = change.previous === undefined ? now : valueOf(field, change.previous);
      for (const value of now === before ? [now] : [now, before]) {
        for (const member of members.get(value) ?? []) {
          const own = found.get(member);
          if (own === undefined) found.set(member, [change]);
          else own.push(change);
        }
      }
    }
  }

  return {
    add(selection, member) {
      const lane = laneOf(selection);
      if (lane === undefined) {
        everywhere.add(member);
        return;
      }
      const values = lanes.get(lane.field) ?? new Map<string, Set<T>>();
      lanes.set(lane.field, values);
      const members = values.get(lane.value) ?? new Set<T>();
      values.set(lane.value, members.add(member));
    },
    remove(selection, member) {
      const lane = laneOf(selection);
      if (lane === undefined) {
        everywhere.delete(member);
        return;
      }
      const values = lanes.get(lane.field);
      const members = values?.get(lane.value);
      members?.delete(member);
      if (members?.size === 0) values?.delete(lane.value);
      if (values?.size === 0) lanes.delete(lane.field);
    },
    sort(changes) {
      const found = new Map<T, CacheChange[]>();
      for (const change of changes) collect(change, found);
      const sorted = new Map<T, readonly CacheChange[]>(found);
      if (changes.length > 0) for (const member of everywhere) sorted.set(member, changes);
      return sorted;
    },
  };
}
