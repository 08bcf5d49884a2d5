import { describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { createTtlCache } from './ttl-cache.ts';

describe('createTtlCache', () => {
  test('caches values for the TTL', async () => {
    const clock = createFakeClock();
    const cache = createTtlCache<string>(clock);
    cache.set('a', '1', 100);
    await clock.advance(99);
    expect(cache.get('a')).toBe('1');
    await clock.advance(1);
    expect(cache.get('a')).toBeUndefined();
  });

  test('caches nothing with a TTL of zero', () => {
    const cache = createTtlCache<string>(createFakeClock());
    cache.set('a', '1', 100);
    cache.set('a', '2', 0);
    expect(cache.get('a')).toBeUndefined();
  });

  test('evicts the oldest when full', () => {
    const cache = createTtlCache<string>(createFakeClock(), 2);
    for (const key of ['a', 'b', 'a', 'c']) cache.set(key, key, 100);
    expect(['a', 'b', 'c'].map((key) => cache.get(key))).toEqual(['a', undefined, 'c']);
  });
});
