/** A binary heap. */

export interface Heap<T> {
  push(item: T): void;
  /** Removes and returns the first. */
  pop(): T | undefined;
}

export function createHeap<T>(isBefore: (a: T, b: T) => boolean): Heap<T> {
  const items: T[] = [];

  function sink(item: T): void {
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      let next = items[child];
      if (next === undefined) break;
      const right = items[child + 1];
      if (right !== undefined && isBefore(right, next)) {
        child += 1;
        next = right;
      }
      if (!isBefore(next, item)) break;
      items[index] = next;
      index = child;
    }
    items[index] = item;
  }

  return {
    push(item) {
      let index = items.length;
      items.push(item);
      while (index > 0) {
        const parent = (index - 1) >> 1;
        const above = items[parent];
        if (above === undefined || !isBefore(item, above)) break;
        items[index] = above;
        index = parent;
      }
      items[index] = item;
    },
    pop() {
      const [first] = items;
      const last = items.pop();
      if (last !== undefined && items.length > 0) sink(last);
      return first;
    },
  };
}
