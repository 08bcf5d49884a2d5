/** Objects by key, with an additional index by groups. */

export interface Indexed<T> {
  get(key: string): T | undefined;
  /** Stores it or, for `undefined`, removes it. Returns the previous object. */
  set(key: string, object: T | undefined): T | undefined;
  /** By key. Group names are derived from the objects. */
  of(group: string): ReadonlyMap<string, T>;
  values(): Iterable<T>;
}

export function createIndex<T>(groupsOf: (object: T) => readonly string[]): Indexed<T> {
  const byKey = new Map<string, T>();
  const groups = new Map<string, Map<string, T>>();
  const none = new Map<string, T>();

  function leave(group: string, key: string): void {
    const members = groups.get(group);
    members?.delete(key);
    if (members?.size === 0) groups.delete(group);
  }

  return {
    get: (key) => byKey.get(key),
    set(key, object) {
      const before = byKey.get(key);
      for (const group of before === undefined ? [] : groupsOf(before)) leave(group, key);
      if (object === undefined) {
        byKey.delete(key);
        return before;
      }
      byKey.set(key, object);
      for (const group of groupsOf(object)) {
        const members = groups.get(group);
        if (members === undefined) groups.set(group, new Map([[key, object]]));
        else members.set(key, object);
      }
      return before;
    },
    of: (group) => groups.get(group) ?? none,
    values: () => byKey.values(),
  };
}
