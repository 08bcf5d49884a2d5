/** Every call of a store that lasts is shown. */
import { expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { createWaits } from '#api/kit/waits.ts';
import { withCallWaits } from './call-waits.ts';
import type { Store } from './contract.ts';

const never = (): Promise<never> => new Promise(() => undefined);
const hung: Store = {
  isShared: true,
  revisionStep: 1,
  currentRevision: never,
  get: never,
  range: never,
  put: never,
  delete: never,
  compact: never,
  close: () => Promise.resolve(),
  watch: () => ({ requestProgress: () => undefined, close: () => undefined }),
};

const CALLS: Readonly<Record<string, (store: Store) => Promise<unknown>>> = {
  currentRevision: (store) => store.currentRevision(),
  get: (store) => store.get('/a'),
  range: (store) => store.range('/'),
  put: (store) => store.put('/a', Buffer.alloc(0), 'absent'),
  delete: (store) => store.delete('/a', 1),
  compact: (store) => store.compact(1),
};

test('every call that gives a promise is tried', () => {
  const asynchronous = Object.entries(hung).flatMap(([name, member]) => (member === never ? [name] : []));
  expect(Object.keys(CALLS).toSorted()).toEqual(asynchronous.toSorted());
});

test.each(Object.entries(CALLS))('%s', async (_, call) => {
  const clock = createFakeClock(0);
  const waits = createWaits({ clock, log: silentLogger });
  void call(withCallWaits(hung, 'etcd at a:2379', waits));
  await clock.advance(4999);
  expect(waits.lasting()).toEqual([]);
  await clock.advance(1);
  const [shown] = waits.lasting();
  expect(shown?.what).toMatch(/ in etcd at a:2379$/);
  expect(shown?.why).toBe('no response yet');
});
