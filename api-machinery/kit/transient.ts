/** Maps and sets of what comes and goes by the thousand.
 *
 *  V8 gives a `Map` a new table when deleted entries have filled the old one, and the old one points to the new one.
 *  Once such a table has grown old, each that follows it outlives the frequent collections of the new generation, and
 *  with it whatever was in it when it was left, long deleted or not; only a collection of everything frees them. Here
 *  the `Map` itself is replaced instead: nothing old points to the next. */

export interface TransientMap<K, V> {
  readonly size: number;
  get(key: K): V | undefined;
  /** A key that is there keeps its place in the order. */
  set(key: K, value: V): void;
  /** False: it was not there. */
  delete(key: K): boolean;
  clear(): void;
  /** Oldest first, as `values` gives them. Entries may be deleted meanwhile, but none be added. */
  keys(): MapIterator<K>;
  values(): MapIterator<V>;
}

export interface TransientSet<T> {
  readonly size: number;
  add(item: T): void;
  /** False: it was not there. */
  delete(item: T): boolean;
  /** Oldest first. Items may be deleted meanwhile, but none be added. */
  values(): MapIterator<T>;
}

/** Entries are copied after as many additions as there are entries, or after this many if there are less. */
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
