/** Scheduling queue: active pods by priority, then by waiting time; pods in backoff; and unschedulable pods
 *  that wait for an event. Source: upstream's scheduling queue, release 1.24. */
import type { Clock, Timer } from '#api/kit/clock.ts';
import type { WakeEvent } from './filters/filter.ts';
import type { PodInfo } from './fleet/model.ts';
import { createHeap } from './heap.ts';
import type { PendingCounts } from './metrics.ts';

/** A pod is tried again after one second, then two, and so on up to ten. */
const FIRST_BACKOFF_MS = 1000;
const LONGEST_BACKOFF_MS = 10_000;
/** Backoffs end up to this much later than they might. */
const BACKOFF_STEP_MS = 10;
/** Maximum time in the unschedulable set, in case an event was missed. */
const LONGEST_WAIT_MS = 300_000;
const LOOK_MS = 30_000;

export interface SchedulingQueue {
  /** Adds or updates a pod. `mayHelp`: the change may make it schedulable. */
  put(pod: PodInfo, mayHelp: boolean): void;
  /** The pod no longer needs a node. */
  remove(key: string): void;
  /** Pops the next active pod. The queue still tracks it, but does not return it again until it is
   *  requeued. */
  take(): PodInfo | undefined;
  /** Requeues an unschedulable pod: `wokenBy` names the events that may help; `undefined`: it failed for
   *  another reason and is retried after its backoff. */
  giveBack(key: string, wokenBy: ReadonlySet<WakeEvent> | undefined): void;
  /** Reports an event that may make pods schedulable. */
  wake(event: WakeEvent): void;
  /** State of a pending pod. */
  get(key: string): PodInfo | undefined;
  /** Number of waiting pods in all states. */
  readonly size: number;
  /** Numbers of waiting pods by state, for metrics. */
  counts(): PendingCounts;
  close(): void;
}

interface Entry {
  pod: PodInfo;
  attempts: number;
  /** For its place among pods of its priority. */
  order: number;
  state: 'due' | 'taken' | 'backoff' | 'stuck';
  /** Time of the last attempt. */
  triedMs: number;
  wokenBy: ReadonlySet<WakeEvent> | undefined;
}

const COUNTED_AS: Readonly<Record<Entry['state'], keyof PendingCounts>> = {
  due: 'active',
  taken: 'active',
  backoff: 'backoff',
  stuck: 'unschedulable',
};

/** A heap entry; stale once the pod has a newer one. */
interface Place {
  readonly entry: Entry;
  readonly priority: number;
  readonly order: number;
}

const isBefore = (a: Place, b: Place): boolean =>
  a.priority === b.priority ? a.order < b.order : a.priority > b.priority;

const backoffMs = (attempts: number): number =>
  Math.min(FIRST_BACKOFF_MS * 2 ** (attempts - 1), LONGEST_BACKOFF_MS);

/** Groups entries whose backoff ends together under one timer: thousands may become due at once. */
function createBackoffs(clock: Clock, makeDue: (entry: Entry) => void) {
  const rounds = new Map<number, { readonly entries: Set<Entry>; readonly timer: Timer }>();
  const places = new Map<Entry, number>();

  function end(atMs: number): void {
    const entries = rounds.get(atMs)?.entries ?? [];
    rounds.delete(atMs);
    for (const entry of entries) {
      places.delete(entry);
      makeDue(entry);
    }
  }

  return {
    add(entry: Entry, endsMs: number): void {
      const atMs = Math.ceil(endsMs / BACKOFF_STEP_MS) * BACKOFF_STEP_MS;
      places.set(entry, atMs);
      const known = rounds.get(atMs);
      if (known !== undefined) {
        known.entries.add(entry);
        return;
      }
      const timer = clock.setTimer(() => end(atMs), atMs - clock.monotonic());
      rounds.set(atMs, { entries: new Set([entry]), timer });
    },
    remove(entry: Entry): void {
      const atMs = places.get(entry);
      if (atMs === undefined) return;
      places.delete(entry);
      const round = rounds.get(atMs);
      round?.entries.delete(entry);
      if (round?.entries.size !== 0) return;
      round.timer.cancel();
      rounds.delete(atMs);
    },
    close(): void {
      for (const { timer } of rounds.values()) timer.cancel();
    },
  };
}

/** Pods in backoff and unschedulable pods. */
function createWaiting(clock: Clock, makeDue: (entry: Entry) => void) {
  const stuck = new Set<Entry>();
  const backoffs = createBackoffs(clock, makeDue);
  let looking: Timer | undefined;

  function leave(entry: Entry): void {
    stuck.delete(entry);
    backoffs.remove(entry);
  }

  /** Active as soon as its backoff is over. */
  function retry(entry: Entry): void {
    leave(entry);
    const endsMs = entry.triedMs + backoffMs(entry.attempts);
    if (endsMs <= clock.monotonic()) {
      makeDue(entry);
      return;
    }
    entry.state = 'backoff';
    backoffs.add(entry, endsMs);
  }

  /** Retries pods whose event may have been missed. */
  function look(): void {
    looking = undefined;
    const nowMs = clock.monotonic();
    for (const entry of stuck) {
      if (nowMs - entry.triedMs >= LONGEST_WAIT_MS) retry(entry);
    }
    if (stuck.size > 0) looking = clock.setTimer(look, LOOK_MS);
  }

  return {
    leave,
    retry,
    keep(entry: Entry): void {
      entry.state = 'stuck';
      stuck.add(entry);
      looking ??= clock.setTimer(look, LOOK_MS);
    },
    wake(event: WakeEvent): void {
      for (const entry of stuck) {
        if (entry.wokenBy?.has(event) === true) retry(entry);
      }
    },
    close(): void {
      looking?.cancel();
      backoffs.close();
    },
  };
}

export interface QueueDeps {
  readonly clock: Clock;
  /** A pod became due. */
  readonly onDue: () => void;
}

export function createSchedulingQueue({ clock, onDue }: QueueDeps): SchedulingQueue {
  const entries = new Map<string, Entry>();
  const heap = createHeap(isBefore);
  const waiting = createWaiting(clock, makeDue);
  let orders = 0;

  function makeDue(entry: Entry): void {
    entry.state = 'due';
    orders += 1;
    entry.order = orders;
    heap.push({ entry, priority: entry.pod.shape.priority, order: orders });
    onDue();
  }

  function remove(key: string): void {
    const entry = entries.get(key);
    if (entry === undefined) return;
    entries.delete(key);
    waiting.leave(entry);
    entry.state = 'taken';
  }

  function add(pod: PodInfo): void {
    const entry: Entry = { pod, attempts: 0, order: 0, state: 'due', triedMs: 0, wokenBy: undefined };
    entries.set(pod.key, entry);
    makeDue(entry);
  }

  function change(entry: Entry, pod: PodInfo, mayHelp: boolean): void {
    const isMoved = entry.pod.shape.priority !== pod.shape.priority;
    entry.pod = pod;
    if (entry.state === 'stuck' && mayHelp) waiting.retry(entry);
    else if (entry.state === 'due' && isMoved) makeDue(entry);
  }

  return {
    put(pod, mayHelp) {
      // Another pod of the same name.
      if (entries.get(pod.key)?.pod.uid !== pod.uid) remove(pod.key);
      const entry = entries.get(pod.key);
      if (entry === undefined) add(pod);
      else change(entry, pod, mayHelp);
    },
    remove,
    take() {
      for (;;) {
        const place = heap.pop();
        if (place === undefined) return undefined;
        const { entry, order } = place;
        if (entry.state !== 'due' || entry.order !== order) continue;
        entry.state = 'taken';
        entry.attempts += 1;
        entry.triedMs = clock.monotonic();
        return entry.pod;
      }
    },
    giveBack(key, wokenBy) {
      const entry = entries.get(key);
      if (entry?.state !== 'taken') return;
      entry.wokenBy = wokenBy;
      if (wokenBy === undefined) waiting.retry(entry);
      else waiting.keep(entry);
    },
    wake: (event) => waiting.wake(event),
    get: (key) => entries.get(key)?.pod,
    get size() {
      return entries.size;
    },
    counts() {
      const counts = { active: 0, backoff: 0, unschedulable: 0 };
      for (const { state } of entries.values()) counts[COUNTED_AS[state]] += 1;
      return counts;
    },
    close: () => waiting.close(),
  };
}
