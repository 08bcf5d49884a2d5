/** Memoization of facts derived from the schema tables, which never change while the program runs.
 *  Only for functions of their argument alone: this is a cache, not state. */

/** Returns a memoized `derive`, which is called at most once for each key. */
export function remember<T>(derive: (key: string) => T): (key?: string) => T {
  const answers = new Map<string, T>();
  return (key = '') => {
    const known = answers.get(key);
    if (known !== undefined) return known;
    const answer = derive(key);
    answers.set(key, answer);
    return answer;
  };
}
