/** Keys of stored values that cannot be decrypted yet. Their objects exist, so nothing may take them for absent: as
 *  long as a resource has such keys, its lists and watches fail, and everything that decides by it waits. */

export type Prefixes = ReadonlySet<string> | 'every';

export interface Sealed {
  readonly size: number;
  /** The same keys as a plain member: whether there are any is asked for every event. */
  readonly all: ReadonlySet<string>;
  /** In the order in which they are to be tried. */
  keys(): readonly string[];
  add(key: string): void;
  /** Whether it was sealed. */
  delete(key: string): boolean;
  /** Number of keys below a prefix. */
  below(prefix: string): number;
  /** Resolves once no value below the prefixes is sealed, or the signal fires; undefined if none is. */
  readable(prefixes: Prefixes, signal: AbortSignal): Promise<void> | undefined;
}

interface Waiting {
  readonly prefixes: Prefixes;
  readonly resolve: () => void;
}

export function createSealed(): Sealed {
  const sealed = new Set<string>();
  /** Results of `below`, until a key is added or deleted. */
  const counts = new Map<string, number>();
  const waiting = new Set<Waiting>();

  function below(prefix: string): number {
    if (sealed.size === 0) return 0;
    const known = counts.get(prefix);
    if (known !== undefined) return known;
    let count = 0;
    for (const key of sealed) if (key.startsWith(prefix)) count += 1;
    counts.set(prefix, count);
    return count;
  }

  const isReadable = (prefixes: Prefixes): boolean =>
    sealed.size === 0 || (prefixes !== 'every' && [...prefixes].every((prefix) => below(prefix) === 0));

  return {
    all: sealed,
    get size() {
      return sealed.size;
    },
    keys: () => [...sealed],
    add(key) {
      // At the end, if it was there already.
      sealed.delete(key);
      sealed.add(key);
      counts.clear();
    },
    delete(key) {
      if (!sealed.delete(key)) return false;
      counts.clear();
      for (const each of waiting) {
        if (!isReadable(each.prefixes)) continue;
        waiting.delete(each);
        each.resolve();
      }
      return true;
    },
    below,
    readable(prefixes, signal) {
      if (isReadable(prefixes)) return undefined;
      return new Promise((resolve) => {
        const each = {
          prefixes,
          resolve() {
            signal.removeEventListener('abort', leave);
            resolve();
          },
        };
        const leave = (): void => {
          waiting.delete(each);
          resolve();
        };
        waiting.add(each);
        signal.addEventListener('abort', leave, { once: true });
      });
    },
  };
}
