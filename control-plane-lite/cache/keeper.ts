/** Lets go of the oldest of what can be made again, so that no more than a budget of it is held. */

export interface Droppable {
  /** Forgets what it held; harmless if that is gone already. */
  drop(): void;
}

export interface Keeper {
  /** Notes something held; older things are dropped while the sum exceeds the budget. */
  keep(item: Droppable, bytes: number): void;
}

const COMPACT_AT = 1024;

export function createKeeper(budgetBytes: number): Keeper {
  let items: ({ readonly item: Droppable; readonly bytes: number } | undefined)[] = [];
  let head = 0;
  let heldBytes = 0;
  return {
    keep(item, bytes) {
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
