/** Batches puts: all that arrive while the last ones are in flight go together, as one group.
 *
 *  A second group is sent in parallel if it has enough entries: with few, each call has half as many and
 *  costs as much. Without it, clients that wait for their results fall into step: all of their puts go as one
 *  group, and the server and the cluster work alternately. */

export interface QueueEntry {
  readonly key: string;
  readonly bytes: number;
}

export interface PutQueueLimits {
  /** Maximum number of entries of a group. */
  readonly entries: number;
  /** Number of entries that justifies a second parallel group. They are sent immediately. */
  readonly enough: number;
  /** Maximum bytes of a group of more than one entry. */
  readonly bytes: number;
}

export interface PutQueue<T extends QueueEntry> {
  readonly add: (entry: T) => void;
}

/** Maximum number of groups in flight. */
const MOST_UNDER_WAY = 2;

/** @param send never rejects; the next group is sent when it resolves. Its entries have different keys */
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

  /** Includes puts that other connections bring in this turn of the event loop. */
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

/** Returns the oldest entries that can go together. A key's second put waits: a transaction writes a key
 *  once. */
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
