/** Fair queue: decides which of many items enters next through a gate of limited width. Items of one flow
 *  (one client) wait in a queue of their own; the queues are served round-robin, one item each, so a flow
 *  with a thousand items delays one with a single item by one turn. Never reads a clock and calls nothing. */

export interface FairQueueOptions {
  /** Maximum number of items inside at once. */
  readonly slots: number;
  /** Maximum number of waiting items per flow. */
  readonly maxPerFlow: number;
  /** Maximum number of waiting items in total. */
  readonly maxWaiting: number;
}

export type Arrival<Item> =
  /** `evicted`: an item of another flow that was evicted to free a place. */
  { readonly kind: 'waiting'; readonly evicted?: Item } | { readonly kind: 'rejected' };

export interface FairQueue<Item> {
  readonly inside: number;
  readonly waiting: number;
  /** Acquires a slot if one is free. */
  admit(): boolean;
  /** Queues an item that was not admitted. */
  arrive(flow: string, item: Item): Arrival<Item>;
  /** Releases the slot of an item; returns the waiting item that acquires it. */
  leave(): Item | undefined;
  /** Removes a waiting item. Returns false if it was not waiting. */
  remove(flow: string, item: Item): boolean;
}

export function createFairQueue<Item>(options: FairQueueOptions): FairQueue<Item> {
  const { slots, maxPerFlow, maxWaiting } = options;
  // In round-robin order: the first is served next and then moves to the end.
  const flows = new Map<string, Item[]>();
  let inside = 0;
  let waiting = 0;

  /** Removes the newest item of the longest queue if that has more than one. */
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
      // While items wait no slot is free: a released slot passes directly to the next item.
      if (inside >= slots) return false;
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
      // Full: the flow with the most waiting items loses one to a flow with none.
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
