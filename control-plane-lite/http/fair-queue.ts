/** Decides who of many may go next through a gate of limited width. Items of one flow (one client) wait in a queue of
 *  their own; the queues are served in turn, one item each, so a flow with a thousand items delays one with a single
 *  item by one turn. Never reads a clock and never calls anyone. */

export interface FairQueueOptions {
  /** Items that may be inside at once. */
  readonly seats: number;
  /** Items of one flow that may wait. */
  readonly maxPerFlow: number;
  /** Items that may wait altogether. */
  readonly maxWaiting: number;
}

export type Arrival<Item> =
  /** `evicted`: another flow's item that had to make room. */
  { readonly kind: 'waiting'; readonly evicted?: Item } | { readonly kind: 'rejected' };

export interface FairQueue<Item> {
  readonly inside: number;
  readonly waiting: number;
  /** Takes a seat, if one is free. */
  admit(): boolean;
  /** For what was not admitted. */
  arrive(flow: string, item: Item): Arrival<Item>;
  /** An item left; returns the one that takes its seat. */
  leave(): Item | undefined;
  /** Takes a waiting item out. False: it wasn't waiting. */
  remove(flow: string, item: Item): boolean;
}

export function createFairQueue<Item>(options: FairQueueOptions): FairQueue<Item> {
  const { seats, maxPerFlow, maxWaiting } = options;
  // In the order of their turns: the first is served next and then goes to the end.
  const flows = new Map<string, Item[]>();
  let inside = 0;
  let waiting = 0;

  /** Takes the newest item of the longest queue, if that is longer than one. */
  function evict(): Item | undefined {
    let longest: Item[] | undefined;
    for (const queue of flows.values()) {
      if (queue.length > (longest?.length ?? 1)) longest = queue;
    }
    if (longest !== undefined) waiting -= 1;
    return longest?.pop();
  }

  function append(flow: string, item: Item): void {
    const queue = flows.get(flow);
    if (queue === undefined) flows.set(flow, [item]);
    else queue.push(item);
    waiting += 1;
  }

  return {
    get inside() {
      return inside;
    },
    get waiting() {
      return waiting;
    },
    admit() {
      // While anyone waits no seat is free: whoever leaves hands the seat on.
      if (inside >= seats) return false;
      inside += 1;
      return true;
    },
    arrive(flow, item) {
      const queued = flows.get(flow)?.length ?? 0;
      if (queued >= maxPerFlow) return { kind: 'rejected' };
      if (waiting < maxWaiting) {
        append(flow, item);
        return { kind: 'waiting' };
      }
      // Full: whoever has most waiting makes room for one that has nothing waiting yet.
      const evicted = queued === 0 ? evict() : undefined;
      if (evicted === undefined) return { kind: 'rejected' };
      append(flow, item);
      return { kind: 'waiting', evicted };
    },
    leave() {
      const first = flows.entries().next();
      if (first.done === true) {
        inside -= 1;
        return undefined;
      }
      const [flow, queue] = first.value;
      const item = queue.shift();
      waiting -= 1;
      flows.delete(flow);
      if (queue.length > 0) flows.set(flow, queue);
      return item;
    },
    remove(flow, item) {
      const queue = flows.get(flow);
      const index = queue?.indexOf(item) ?? -1;
      if (queue === undefined || index < 0) return false;
      queue.splice(index, 1);
      waiting -= 1;
      if (queue.length === 0) flows.delete(flow);
      return true;
    },
  };
}
