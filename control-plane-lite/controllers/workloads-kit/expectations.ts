/** Keeps a controller from acting on a cache that has not seen yet what the controller itself wrote: before a key that
 *  was written for is worked on again, the cache catches up with the store. To be used by one worker per key. */
import type { Cache } from '../../cache/contract.ts';

export interface Expectations {
  /** Something is about to be written for the key. */
  expect(key: string): void;
  /** Resolves when the cache has everything that was written for the key. @throws CacheError `unavailable`, `future` */
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
