/** Memoization of facts derived from the schema tables, which never change while the program runs.
 *  Only for functions of their argument alone: this is a cache, not state. */

/** Returns a memoized `derive`, which is called at most once for each key. */
export function remember<T>(derive: (key: string) => T): (key?: string) => T {
  const values = new Map<string, T>();
  return (key = '') => {
    const known = values.get(key);
    if (known !== undefined) return known;
    const value = derive(key);
    values.set(key, value);
    return value;
  };
}
