import { describe, expect, test } from 'vitest';
import { assess, type EvictionState, INITIAL_STATE, isStillShort } from './decide.ts';
import type { Observations, Signal } from './signals.ts';
import { parseAmount, type Threshold } from './thresholds.ts';

const threshold = (signal: Signal, amount: string, more: Partial<Threshold> = {}): Threshold => ({
  signal,
  amount: parseAmount(amount),
  hard: true,
  graceMs: 0,
  ...more,
});
const HARD = threshold('memory.available', '100', { minReclaim: parseAmount('50') });
const SOFT = threshold('memory.available', '300', { hard: false, graceMs: 90 });
const DISK = threshold('nodefs.available', '10%');
const THRESHOLDS = [DISK, SOFT, HARD];

function seen(atMs: number, amounts: Partial<Record<Signal, number>>): Observations {
  const entries = Object.entries(amounts) as [Signal, number][];
  return new Map(entries.map(([signal, available]) => [signal, { available, capacity: 1000, atMs }]));
}

/** Assesses the observations in order; returns the last assessment as text. */
function after(...looks: readonly (readonly [number, Partial<Record<Signal, number>>])[]): {
  readonly conditions: readonly string[];
  readonly pressing: readonly Threshold[];
} {
  let state: EvictionState = INITIAL_STATE;
  let last: ReturnType<typeof assess> | undefined;
  for (const [nowMs, amounts] of looks) {
    last = assess(state, {
      nowMs,
      thresholds: THRESHOLDS,
      observations: seen(nowMs, amounts),
      transitionMs: 60,
    });
    ({ state } = last);
  }
  return { conditions: [...(last?.conditions ?? [])], pressing: last?.pressing ?? [] };
}

describe('an assessment', () => {
  test('without shortage has no effect', () => {
    expect(after([0, { 'memory.available': 900, 'nodefs.available': 100 }])).toEqual({
      conditions: [],
      pressing: [],
    });
  });

  test('of a hard threshold presses at once', () => {
    expect(after([0, { 'memory.available': 99 }])).toEqual({
      conditions: ['MemoryPressure'],
      pressing: [HARD],
    });
  });

  test('of a soft threshold presses only after the grace period', () => {
    const short = { 'memory.available': 200 };
    expect(after([0, short], [89, short])).toEqual({ conditions: ['MemoryPressure'], pressing: [] });
    expect(after([0, short], [90, short]).pressing).toEqual([SOFT]);
    expect(after([0, short], [50, { 'memory.available': 500 }], [90, short]).pressing).toEqual([]);
  });

  test('puts memory before disk and hard before soft', () => {
    const short = { 'memory.available': 50, 'nodefs.available': 50 };
    expect(after([0, short], [200, short]).pressing).toEqual([HARD, SOFT, DISK]);
  });

  test('presses until the minimum reclaim is available', () => {
    expect(after([0, { 'memory.available': 99 }], [1, { 'memory.available': 149 }]).pressing).toEqual([HARD]);
    expect(after([0, { 'memory.available': 99 }], [1, { 'memory.available': 150 }]).pressing).toEqual([]);
  });

  test('retains a condition for the transition period', () => {
    const short = { 'nodefs.available': 50 };
    const enough = { 'nodefs.available': 500 };
    expect(after([0, short], [59, enough]).conditions).toEqual(['DiskPressure']);
    expect(after([0, short], [60, enough]).conditions).toEqual([]);
    expect(after([0, short], [59, enough], [60, short], [119, enough]).conditions).toEqual(['DiskPressure']);
  });

  test('retains the state of a signal without observation, and does not act on it', () => {
    expect(after([0, { 'nodefs.available': 50 }], [500, {}])).toEqual({
      conditions: ['DiskPressure'],
      pressing: [],
    });
  });

  test('of old observations does not press again', () => {
    const first = assess(INITIAL_STATE, {
      nowMs: 5,
      thresholds: THRESHOLDS,
      observations: seen(5, { 'memory.available': 50 }),
      transitionMs: 60,
    });
    const again = assess(first.state, {
      nowMs: 9,
      thresholds: THRESHOLDS,
      observations: seen(5, { 'memory.available': 50 }),
      transitionMs: 60,
    });
    expect(again).toMatchObject({ conditions: new Set(['MemoryPressure']), pressing: [] });
  });
});

test('reclaiming is sufficient only with the minimum reclaim', () => {
  expect(isStillShort(HARD, seen(1, { 'memory.available': 149 }))).toBe(true);
  expect(isStillShort(HARD, seen(1, { 'memory.available': 150 }))).toBe(false);
  expect(isStillShort(HARD, new Map())).toBe(false);
});
