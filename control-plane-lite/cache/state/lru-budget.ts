/** LRU budget: evicts the oldest derived data while its total size exceeds a budget. */

export interface Droppable {
  /** Drops the data; harmless if it is already gone. */
  drop(): void;
}

export interface LruBudget {
  /** Registers data; older entries are evicted while the sum exceeds the budget. */
  retain(item: Droppable, bytes: number): void;
}

const COMPACT_AT = 1024;

export function createLruBudget(budgetBytes: number): LruBudget {
  let items: ({ readonly item: Droppable; readonly bytes: number } | undefined)[] = [];
  let head = 0;
  let heldBytes = 0;
  return {
    retain(item, bytes) {
      items.push({ item, bytes });
      heldBytes += bytes;
      while (heldBytes > budgetBytes && head < items.length) {
        const oldest = items[head];
        items[head] = undefined;
        head += 1;
        heldBytes -= oldest?.bytes ?? 0;
        oldest?.item.drop();
      }
      if (head < COMPACT_AT || head * 2 < items.length) return;
      items = items.slice(head);
      head = 0;
    },
  };
}
