import { describe, expect, test } from 'vitest';
import type { Observation, Signal } from './signals.ts';
import { isMet, metBy, parseAmount, readThresholds, type Threshold } from './thresholds.ts';

const NONE = {
  evictionHard: {},
  evictionSoft: {},
  evictionSoftGracePeriod: {},
  evictionMinimumReclaim: {},
  allocatableEnforced: false,
};
const seen = (available: number, capacity = 1000): Observation => ({ available, capacity, atMs: 1 });
const hard = (amount: string, minReclaim?: string): Threshold => ({
  signal: 'memory.available',
  amount: parseAmount(amount),
  hard: true,
  graceMs: 0,
  ...(minReclaim === undefined ? {} : { minReclaim: parseAmount(minReclaim) }),
});

test.each([
  ['100Mi', { kind: 'number', number: 104_857_600 }],
  ['5', { kind: 'number', number: 5 }],
  ['10%', { kind: 'share', share: 0.1 }],
  ['0.5%', { kind: 'share', share: 0.005 }],
])('the amount %s is read', (text, amount) => {
  expect(parseAmount(text)).toEqual(amount);
});

describe('settings', () => {
  test('become thresholds, hard ones first', () => {
    expect(
      readThresholds({
        ...NONE,
        evictionHard: { 'nodefs.available': '10%' },
        evictionSoft: { 'memory.available': '1Ki' },
        evictionSoftGracePeriod: { 'memory.available': '1m30s' },
        evictionMinimumReclaim: { 'nodefs.available': '2Ki' },
      }),
    ).toEqual([
      {
        signal: 'nodefs.available',
        amount: { kind: 'share', share: 0.1 },
        hard: true,
        graceMs: 0,
        minReclaim: { kind: 'number', number: 2048 },
      },
      { signal: 'memory.available', amount: { kind: 'number', number: 1024 }, hard: false, graceMs: 90_000 },
    ]);
  });

  test.each(['0%', '100%'])('%s switches a threshold off', (amount) => {
    expect(readThresholds({ ...NONE, evictionHard: { 'pid.available': amount } })).toEqual([]);
  });

  test('hold for the pods together where their memory is limited', () => {
    const signals = (settings: typeof NONE): readonly Signal[] =>
      readThresholds({ ...settings, evictionHard: { 'memory.available': '1Ki' } }).map(
        ({ signal }) => signal,
      );
    expect(signals(NONE)).toEqual(['memory.available']);
    expect(signals({ ...NONE, allocatableEnforced: true })).toEqual([
      'memory.available',
      'allocatableMemory.available',
    ]);
  });
});

test.each([
  ['less than the amount', hard('100'), seen(99), false, true],
  ['just the amount', hard('100'), seen(100), false, false],
  ['less than the share', hard('10%'), seen(99), false, true],
  ['just the share', hard('10%'), seen(100), false, false],
  ['what is to be won back missing, before it is met', hard('100', '50'), seen(149), false, false],
  ['what is to be won back missing, once it was met', hard('100', '50'), seen(149), true, true],
  ['what is to be won back there', hard('100', '5%'), seen(150), true, false],
])('with %s', (_, threshold, observation, reclaiming, met) => {
  expect(isMet(threshold, observation, reclaiming)).toBe(met);
});

test('a signal without observation meets no threshold', () => {
  expect(metBy([hard('100')], new Map(), true)).toEqual([]);
});
