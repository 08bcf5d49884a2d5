import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Candidate, explain, formatAmount, rank } from './ranking.ts';
import { SIGNALS, type Signal } from './signals.ts';

const candidate = (pod: string, more: Partial<Candidate<string>> = {}): Candidate<string> => ({
  pod,
  priority: 0,
  critical: false,
  used: 0,
  requested: 0,
  containers: [],
  ...more,
});
const order = (signal: Signal, candidates: readonly Candidate<string>[]): readonly string[] =>
  rank(signal, candidates).map(({ pod }) => pod);

describe('eviction ranking', () => {
  test.each<[string, Signal, readonly Candidate<string>[], readonly string[]]>([
    [
      'pods above their requests are evicted before lower priorities',
      'memory.available',
      [
        candidate('low', { priority: -5, used: 5, requested: 9 }),
        candidate('over', { used: 5, requested: 4 }),
      ],
      ['over', 'low'],
    ],
    [
      'of those the lower priority',
      'memory.available',
      [candidate('a', { priority: 9, used: 900 }), candidate('b', { priority: 1, used: 5 })],
      ['b', 'a'],
    ],
    [
      'of the same priority who is furthest beyond the request',
      'nodefs.available',
      [candidate('a', { used: 900, requested: 890 }), candidate('b', { used: 50, requested: 10 })],
      ['b', 'a'],
    ],
    [
      'who could not be measured goes first',
      'memory.available',
      [candidate('a', { used: 900 }), candidate('b', { used: undefined, priority: 100 })],
      ['b', 'a'],
    ],
    [
      'process numbers are not requested',
      'pid.available',
      [
        candidate('a', { used: 10 }),
        candidate('b', { used: 20, requested: 50 }),
        candidate('c', { priority: -1, used: 1 }),
      ],
      ['c', 'b', 'a'],
    ],
    [
      'critical ones stay',
      'memory.available',
      [candidate('a', { critical: true, used: 900 }), candidate('b')],
      ['b'],
    ],
  ])('%s', (_, signal, candidates, expected) => {
    expect(order(signal, candidates)).toEqual(expected);
  });

  test('is a total order of all pods that are not critical', () => {
    const arbitrary = fc.record({
      pod: fc.string(),
      priority: fc.integer({ min: -3, max: 3 }),
      critical: fc.boolean(),
      used: fc.option(fc.nat(20), { nil: undefined }),
      requested: fc.nat(20),
      containers: fc.constant([]),
    });
    fc.assert(
      fc.property(fc.constantFrom(...SIGNALS), fc.array(arbitrary), (signal, candidates) => {
        const ranked = rank(signal, candidates);
        expect(new Set(ranked)).toEqual(new Set(candidates.filter(({ critical }) => !critical)));
        expect(rank(signal, ranked)).toEqual(ranked);
      }),
    );
  });
});

test.each<[Signal, number, string]>([
  ['pid.available', 123_456, '123456'],
  ['memory.available', 1000, '1000'],
  ['memory.available', 104_857_600, '100Mi'],
  ['nodefs.available', 25 * 2 ** 30, '25Gi'],
  ['nodefs.available', 9.5 * 2 ** 30, '9728Mi'],
])('%s of %d is %s', (signal, amount, text) => {
  expect(formatAmount(signal, amount)).toBe(text);
});

test('the message has the resource, the threshold, and containers above their requests', () => {
  const evicted = candidate('p', {
    containers: [
      { name: 'hog', used: 50 * 2 ** 20, requested: 20 * 2 ** 20 },
      { name: 'modest', used: 5, requested: 20 },
    ],
  });
  const shortage = { signal: 'memory.available', available: 90 * 2 ** 20, least: 100 * 2 ** 20 } as const;
  expect(explain(shortage, evicted)).toBe(
    'The node was low on resource: memory. Threshold quantity: 100Mi, available: 90Mi. Container hog was using 50Mi, which exceeds its request of 20Mi.',
  );
  expect(explain({ signal: 'pid.available', available: 1, least: 2 }, evicted)).toBe(
    'The node was low on resource: pids. Threshold quantity: 2, available: 1.',
  );
});
