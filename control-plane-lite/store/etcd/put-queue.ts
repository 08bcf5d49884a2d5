/** Puts that wait for their turn. All that have come while the last ones were under way go together, as one group. One
 *  group is under way at a time: with two, each has half as many, and costs as much. */

export interface QueueEntry {
  readonly key: string;
  readonly bytes: number;
}

export interface PutQueueLimits {
  /** Entries that a group has at most. */
  readonly entries: number;
  /** Bytes that a group of more than one has at most. */
  readonly bytes: number;
}

export interface PutQueue<T extends QueueEntry> {
  readonly add: (entry: T) => void;
}

/** @param send never rejects; the next group goes when it resolves. Its entries have different keys */
export function createPutQueue<T extends QueueEntry>(
  limits: PutQueueLimits,
  send: (group: readonly T[]) => Promise<void>,
): PutQueue<T> {
  let waiting: T[] = [];
  let isSending = false;

  async function sendNext(): Promise<void> {
    const { group, rest } = takeGroup(waiting, limits);
    waiting = rest;
    await send(group);
    isSending = false;
    goOn();
  }

  /** What other connections bring in this turn of the event loop goes along. */
  function goOn(): void {
    if (isSending || waiting.length === 0) return;
    isSending = true;
    setImmediate(() => void sendNext());
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
