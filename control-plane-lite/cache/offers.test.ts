import { describe, expect, test } from 'vitest';
import { createOffers } from './offers.ts';

const object = (name: string): Parameters<ReturnType<typeof createOffers>['add']>[2] => ({
  kind: 'Pod',
  apiVersion: 'v1',
  metadata: { name },
});

describe('offers', () => {
  test('are found by key and bytes, once', () => {
    const offers = createOffers();
    offers.add('a', Buffer.from('1'), object('a'));
    expect(offers.take('b', Buffer.from('1'))).toBeUndefined();
    expect(offers.take('a', Buffer.from('2'))).toBeUndefined();
    expect(offers.take('a', Buffer.from('1'))?.metadata.name).toBe('a');
    expect(offers.take('a', Buffer.from('1'))).toBeUndefined();
  });

  test('the newest of a key counts', () => {
    const offers = createOffers();
    offers.add('a', Buffer.from('1'), object('first'));
    offers.add('a', Buffer.from('2'), object('second'));
    expect(offers.take('a', Buffer.from('1'))).toBeUndefined();
    expect(offers.take('a', Buffer.from('2'))?.metadata.name).toBe('second');
  });

  test('the oldest of too many are forgotten', () => {
    const offers = createOffers(2);
    for (const name of ['a', 'b', 'c']) offers.add(name, Buffer.from(name), object(name));
    expect(['a', 'b', 'c'].map((name) => offers.take(name, Buffer.from(name))?.metadata.name)).toEqual([
      undefined,
      'b',
      'c',
    ]);
  });
});
