/** Maps and sets for high-churn entries.
 *
 *  V8 gives a `Map` a new table when deleted entries have filled the old one, and the old table points to
 *  the new one. Once such a table has been promoted to the old generation, each of its successors survives
 *  the frequent collections of the young generation, together with all entries in it, even deleted ones;
 *  only a full collection frees them. Here the `Map` itself is replaced instead: nothing old points to the
 *  new one. */

export interface TransientMap<K, V> {
  readonly size: number;
  get(key: K): V | undefined;
  /** An existing key keeps its position in the order. */
  set(key: K, value: V): void;
  /** Returns false if it did not exist. */
  delete(key: K): boolean;
  clear(): void;
  /** Oldest first, like `values`. Entries may be deleted during the iteration, but not added. */
  keys(): MapIterator<K>;
  values(): MapIterator<V>;
}

export interface TransientSet<T> {
  readonly size: number;
  add(item: T): void;
  /** Returns false if it did not exist. */
  delete(item: T): boolean;
  /** Oldest first. Items may be deleted during the iteration, but not added. */
  values(): MapIterator<T>;
}

/** Entries are copied after as many additions as there are entries, but at least this many. */
const RENEW_AFTER = 64;

export function createTransientMap<K, V>(): TransientMap<K, V> {
  let map = new Map<K, V>();
  let added = 0;
  return {
    get size() {
      return map.size;
    },
    get: (key) => map.get(key),
    set(key, value) {
      added += 1;
      if (added > Math.max(RENEW_AFTER, map.size)) {
        map = new Map(map);
        added = 1;
      }
      map.set(key, value);
    },
    delete: (key) => map.delete(key),
    clear() {
      map = new Map();
      added = 0;
    },
    keys: () => map.keys(),
    values: () => map.values(),
  };
}

export function createTransientSet<T>(): TransientSet<T> {
  const items = createTransientMap<T, T>();
  return {
    get size() {
      return items.size;
    },
    add: (item) => items.set(item, item),
    delete: (item) => items.delete(item),
    values: () => items.keys(),
  };
}
