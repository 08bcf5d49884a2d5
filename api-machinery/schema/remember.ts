/** Facts derived from the schema tables never change while the program runs, so each is derived once.
 *  Only for functions of their argument alone: this is a memory of answers, not state. */

/** `derive`, which is asked at most once for each key. */
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
