/** Puts that wait for their turn. All that have come while the last ones were under way go together, as one group.
 *
 *  A second group goes beside the first if it has enough entries: with few, each call has half as many and costs as
 *  much. Without it, clients that wait for their answers fall into step: all of their puts go as one group, and the
 *  server and the cluster work in turns. */

export interface QueueEntry {
  readonly key: string;
  readonly bytes: number;
}

export interface PutQueueLimits {
  /** Entries that a group has at most. */
  readonly entries: number;
  /** Entries for which it is worth while to send a second group beside the first. They go at once. */
  readonly enough: number;
  /** Bytes that a group of more than one has at most. */
  readonly bytes: number;
}

export interface PutQueue<T extends QueueEntry> {
  readonly add: (entry: T) => void;
}

/** Groups that are under way at once. */
const MOST_UNDER_WAY = 2;

/** @param send never rejects; the next group goes when it resolves. Its entries have different keys */
export function createPutQueue<T extends QueueEntry>(
  limits: PutQueueLimits,
  send: (group: readonly T[]) => Promise<void>,
): PutQueue<T> {
  let waiting: T[] = [];
  let underWay = 0;
  let isDue = false;

  async function sendNext(): Promise<void> {
    const { group, rest } = takeGroup(waiting, limits);
    waiting = rest;
    underWay += 1;
    await send(group);
    underWay -= 1;
    goOn();
  }

  function goOn(): void {
    if (waiting.length >= limits.enough && underWay < MOST_UNDER_WAY) void sendNext();
    else if (waiting.length > 0 && underWay === 0 && !isDue) sendLater();
  }

  /** What other connections bring in this turn of the event loop goes along. */
  function sendLater(): void {
    isDue = true;
    setImmediate(() => {
      isDue = false;
      if (waiting.length > 0 && underWay === 0) void sendNext();
    });
  }

  return {
    add(entry) {
      waiting.push(entry);
      goOn();
    },
  };
}

/** The oldest entries that can go together. One key's second put waits: a transaction writes a key once. */
export function takeGroup<T extends QueueEntry>(
  waiting: readonly T[],
  limits: PutQueueLimits,
): { readonly group: readonly T[]; readonly rest: T[] } {
  const group: T[] = [];
  const passedOver: T[] = [];
  const keys = new Set<string>();
  let bytes = 0;
  let next = 0;
  for (; next < waiting.length && group.length < limits.entries; next += 1) {
    const entry = waiting[next];
    if (entry === undefined) break;
    const fits = group.length === 0 || bytes + entry.bytes <= limits.bytes;
    if (!fits) break;
    if (keys.has(entry.key)) {
      passedOver.push(entry);
    } else {
      group.push(entry);
      bytes += entry.bytes;
    }
    keys.add(entry.key);
  }
  return { group, rest: [...passedOver, ...waiting.slice(next)] };
}
