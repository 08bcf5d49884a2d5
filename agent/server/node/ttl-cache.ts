/** Cache of values with a time to live. Evicts the oldest entries when it is full. */
import type { Clock } from '#api/kit/clock.ts';

export interface TtlCache<T> {
  get(key: string): T | undefined;
  set(key: string, value: T, ttlMs: number): void;
}

const MOST_ENTRIES = 8192;

export function createTtlCache<T>(clock: Pick<Clock, 'monotonic'>, most: number = MOST_ENTRIES): TtlCache<T> {
  const entries = new Map<string, { readonly value: T; readonly untilMs: number }>();
  return {
    get(key) {
      const entry = entries.get(key);
      if (entry === undefined) return undefined;
      if (clock.monotonic() < entry.untilMs) return entry.value;
      entries.delete(key);
      return undefined;
    },
    set(key, value, ttlMs) {
      entries.delete(key);
      if (ttlMs <= 0) return;
      const [oldest] = entries.keys();
      if (entries.size >= most && oldest !== undefined) entries.delete(oldest);
      entries.set(key, { value, untilMs: clock.monotonic() + ttlMs });
    },
  };
}
