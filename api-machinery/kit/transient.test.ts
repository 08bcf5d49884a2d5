import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import { createTransientMap, createTransientSet } from './transient.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as (options?: { readonly type: 'minor' }) => void;

interface Churned {
  set(key: number, value: object): unknown;
  delete(key: number): boolean;
}

/** Returns the bytes that collections of the young generation alone have not freed after many entries came
 *  and went. */
function retainedBy(map: Churned): number {
  const inside = 16;
  const rounds = 4000;
  map.set(-1, {});
  map.delete(-1);
  collect();
  collect();
  const before = process.memoryUsage().heapUsed;
  for (let key = 0; key < rounds; key += 1) {
    map.set(
      key,
      Array.from({ length: 500 }, () => key),
    );
    map.delete(key - inside);
    if (key % 200 === 0) collect({ type: 'minor' });
  }
  for (let key = rounds - inside; key < rounds; key += 1) map.delete(key);
  collect({ type: 'minor' });
  collect({ type: 'minor' });
  return process.memoryUsage().heapUsed - before;
}

describe('a transient map', () => {
  test('contains entries until they are deleted, in insertion order', () => {
    const map = createTransientMap<number, string>();
    for (let key = 0; key < 1000; key += 1) {
      map.set(key, `v${key}`);
      expect(map.delete(key - 200)).toBe(key >= 200);
    }
    expect(map.size).toBe(200);
    expect(map.get(799)).toBeUndefined();
    expect(map.get(800)).toBe('v800');
    expect(map.delete(799)).toBe(false);
    expect([...map.keys()]).toEqual(Array.from({ length: 200 }, (_, i) => 800 + i));
    expect([...map.values()].at(-1)).toBe('v999');
    map.clear();
    expect(map.size).toBe(0);
  });

  test('keeps the position of a key that is set again', () => {
    const map = createTransientMap<string, number>();
    map.set('a', 1);
    map.set('b', 2);
    for (let count = 0; count < 100; count += 1) map.set('a', count);
    expect([...map.keys()]).toEqual(['a', 'b']);
    expect(map.get('a')).toBe(99);
  });

  test('releases deleted entries without a full collection, unlike a Map', () => {
    const mebibyte = 1024 * 1024;
    expect(retainedBy(createTransientMap<number, object>())).toBeLessThan(mebibyte);
    // Otherwise the class is no longer needed.
    expect(retainedBy(new Map<number, object>())).toBeGreaterThan(2 * mebibyte);
  });
});

test('a transient set contains each item once, and allows deletion during iteration', () => {
  const set = createTransientSet<number>();
  for (let item = 0; item < 300; item += 1) {
    set.add(item);
    set.add(item);
  }
  expect(set.size).toBe(300);
  for (const item of set.values()) if (item % 2 === 0) set.delete(item);
  expect([...set.values()]).toEqual(Array.from({ length: 150 }, (_, i) => 2 * i + 1));
  expect(set.delete(0)).toBe(false);
});
