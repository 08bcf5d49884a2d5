import { expect, test } from 'vitest';
import type { CacheChange, CachedObject } from '../cache/contract.ts';
import { readAmounts } from './amounts.ts';
import { createPendingCharges, PENDING_MS, type PendingCharge } from './pending.ts';

function createWorld() {
  let now = 0;
  const listeners: ((change: CacheChange) => void)[] = [];
  const objects = {
    follow: (listener: (change: CacheChange) => void) => {
      listeners.push(listener);
      return { close: () => undefined };
    },
  };
  const pending = createPendingCharges({
    clock: { now: () => now },
    cache: { resource: () => objects },
  });
  return {
    pending,
    listeners,
    pass: (ms: number) => {
      now += ms;
    },
    store: (key: string, revision: number) => {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- no more of it is looked at
      const current = { key, revision } as CachedObject;
      for (const notify of listeners) notify({ type: 'ADDED', current });
    },
  };
}

const charge = (key: string, afterRevision = 0): PendingCharge => ({
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- no more of it is looked at
  resource: { storage: {}, info: {} } as PendingCharge['resource'],
  key,
  afterRevision,
  delta: readAmounts({ pods: '1' }),
});

test('a charge is pending from the revision that has it until the object is stored', () => {
  const { pending, store, listeners } = createWorld();
  const entry = pending.add('ns', charge('ns/a'));
  expect(pending.of('ns', 'q', 9)).toEqual([]);
  entry.promise('q', 5);
  expect([pending.of('ns', 'q', 5).length, pending.of('ns', 'q', 6).length]).toEqual([0, 1]);
  expect([pending.of('ns', 'other', 6), pending.of('elsewhere', 'q', 6)]).toEqual([[], []]);
  store('ns/b', 7);
  expect(pending.of('ns', 'q', 8).length).toBe(1);
  store('ns/a', 7);
  expect(pending.of('ns', 'q', 8)).toEqual([]);
  expect(listeners.length).toBe(1);
});

test('growth is pending until the object is stored anew', () => {
  const { pending, store } = createWorld();
  pending.add('ns', charge('ns/a', 7)).promise('q', 5);
  store('ns/a', 7);
  expect(pending.of('ns', 'q', 8).length).toBe(1);
  store('ns/a', 8);
  expect(pending.of('ns', 'q', 9)).toEqual([]);
});

test('rejected, withdrawn and lost charges are not pending', () => {
  const { pending, pass } = createWorld();
  const refused = pending.add('ns', charge('ns/a'));
  refused.promise('q', 1);
  refused.promise('q', undefined);
  const withdrawn = pending.add('ns', charge('ns/b'));
  withdrawn.promise('q', 1);
  withdrawn.withdraw();
  pending.add('ns', charge('ns/c')).promise('q', 1);
  expect(pending.of('ns', 'q', 2).map(({ key }) => key)).toEqual(['ns/c']);
  pass(PENDING_MS + 1);
  expect(pending.of('ns', 'q', 2)).toEqual([]);
});
