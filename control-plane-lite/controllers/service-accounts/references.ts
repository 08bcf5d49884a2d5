/** Index of references between keys. */
export interface References {
  add(to: string, from: string): void;
  remove(to: string, from: string): void;
  of(to: string): Iterable<string>;
}

export function createReferences(): References {
  const known = new Map<string, Set<string>>();
  return {
    add(to, from) {
      const found = known.get(to) ?? new Set();
      known.set(to, found.add(from));
    },
    remove(to, from) {
      const found = known.get(to);
      found?.delete(from);
      if (found?.size === 0) known.delete(to);
    },
    of: (to) => known.get(to) ?? [],
  };
}
