/** Groups of current watchers with the same selection and encoding: the bytes of a turn of the event loop are
 *  created once per group and written once to each member. Bookmarks are sent about once a minute. */
import type { Timer } from '#api/kit/clock.ts';
import type { ByteSink, CacheChange, EventEncoder, WatchOptions } from '../contract.ts';
import { type Matcher, selectionId } from '../state/selection.ts';
import { encodeChanges } from './encode.ts';
import { createWatchLanes } from './watch-lanes.ts';

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
