/** Prevents a controller from acting on a cache that does not yet contain the controller's own writes: before
 *  the key is processed again, the cache catches up with the store. For one worker per key. */
import type { Cache } from '../../cache/contract.ts';

export interface Expectations {
  /** Announces a write for the key. */
  expect(key: string): void;
  /** Resolves when the cache contains all writes for the key. @throws CacheError `unavailable`, `future` */
  met(key: string): Promise<void>;
}

export function createExpectations(cache: Pick<Cache, 'waitForNewest'>): Expectations {
  const written = new Set<string>();
  return {
    expect: (key) => void written.add(key),
    async met(key) {
      if (!written.has(key)) return;
      await cache.waitForNewest();
      written.delete(key);
    },
  };
}
