/** Random schedules of signals through the decisions, against a model that evaluates the complete history
 *  without any state between checks. */
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { assess, type EvictionState, INITIAL_STATE } from './decide.ts';
import { type Candidate, rank } from './ranking.ts';
import { type PressureCondition, SIGNAL_FACTS, SIGNALS, type Signal } from './signals.ts';
import { parseAmount, type Threshold } from './thresholds.ts';

const CAPACITY = 100;

interface Moment {
  readonly atMs: number;
  /** Signals that could be measured. */
  readonly amounts: Partial<Record<Signal, number>>;
}

const amount = fc.nat(60).map((number) => parseAmount(String(number + 1)));
const arbitraryThreshold: fc.Arbitrary<Threshold> = fc.record({
  signal: fc.constantFrom(...SIGNALS),
  amount,
  minReclaim: fc.option(amount).map((one) => one ?? parseAmount('0')),
  hard: fc.boolean(),
  graceMs: fc.nat(50),
});
const arbitrarySchedule: fc.Arbitrary<readonly Moment[]> = fc
  .array(
    fc.record({
      waitMs: fc.integer({ min: 1, max: 30 }),
      amounts: fc.record(Object.fromEntries(SIGNALS.map((signal) => [signal, fc.nat(CAPACITY)])), {
        requiredKeys: [],
      }) as fc.Arbitrary<Moment['amounts']>,
    }),
    { maxLength: 15 },
  )
  .map((steps) => {
    let atMs = 0;
    return steps.map(({ waitMs, amounts }) => {
      atMs += waitMs;
      return { atMs, amounts };
    });
  });

const least = ({ amount: wanted }: Threshold): number => (wanted.kind === 'number' ? wanted.number : 0);
const reclaim = ({ minReclaim }: Threshold): number =>
  minReclaim?.kind === 'number' ? minReclaim.number : 0;

/** For each moment, whether the threshold is met by then. */
function metOver(history: readonly Moment[], threshold: Threshold): readonly boolean[] {
  const met: boolean[] = [];
  for (const { amounts } of history) {
    const seen = amounts[threshold.signal];
    const before = met.at(-1) === true;
    met.push(seen === undefined ? before : seen < least(threshold) + (before ? reclaim(threshold) : 0));
  }
  return met;
}

/** The result of the whole history. */
function model(history: readonly Moment[], thresholds: readonly Threshold[], transitionMs: number) {
  const nowMs = history.at(-1)?.atMs ?? 0;
  const conditions = new Set<PressureCondition>();
  const pressing = new Set<Threshold>();
  for (const threshold of thresholds) {
    const met = metOver(history, threshold);
    const last = met.lastIndexOf(true);
    const { atMs: lastMs = 0 } = history[last] ?? {};
    const isMet = last === history.length - 1;
    if (last >= 0 && (isMet || nowMs - lastMs < transitionMs)) {
      conditions.add(SIGNAL_FACTS[threshold.signal].condition);
    }
    if (last < 0 || !isMet || history.at(-1)?.amounts[threshold.signal] === undefined) continue;
    const { atMs: firstMs = 0 } = history[met.lastIndexOf(false) + 1] ?? {};
    if (nowMs - firstMs >= threshold.graceMs) pressing.add(threshold);
  }
  return { conditions, pressing };
}

test('over any thousand schedules the decisions are those of the model', () => {
  fc.assert(
    fc.property(
      arbitrarySchedule,
      fc.array(arbitraryThreshold, { maxLength: 8 }),
      fc.nat(60),
      (schedule, thresholds, transitionMs) => {
        let state: EvictionState = INITIAL_STATE;
        for (const [index, { atMs, amounts }] of schedule.entries()) {
          const entries = Object.entries(amounts) as [Signal, number][];
          const observations = new Map(
            entries.map(([signal, available]) => [signal, { available, capacity: CAPACITY, atMs }]),
          );
          const found = assess(state, { nowMs: atMs, thresholds, observations, transitionMs });
          ({ state } = found);
          const expected = model(schedule.slice(0, index + 1), thresholds, transitionMs);
          expect(found.conditions).toEqual(expected.conditions);
          expect(new Set(found.pressing)).toEqual(expected.pressing);
          const isMemory = found.pressing.map(({ signal }) => SIGNAL_FACTS[signal].scarce === 'memory');
          expect(isMemory).toEqual(isMemory.toSorted((one, other) => Number(other) - Number(one)));
        }
      },
    ),
    { numRuns: 1000 },
  );
});

const arbitraryCandidate: fc.Arbitrary<Candidate<object>> = fc.record({
  pod: fc.constant({}),
  priority: fc.integer({ min: 0, max: 2 }),
  critical: fc.boolean(),
  used: fc.option(fc.nat(9)).map((one) => one ?? undefined),
  requested: fc.nat(9),
  containers: fc.constant([]),
});

test('no other pod ranks before the first, and critical pods are spared', () => {
  const exceeds = ({ used = 0, requested }: Candidate<object>): boolean => used > requested;
  /** Whether one must be evicted before the other under memory pressure, rule by rule. */
  function mustPrecede(one: Candidate<object>, other: Candidate<object>): boolean {
    if ((one.used === undefined) !== (other.used === undefined)) return one.used === undefined;
    if (exceeds(one) !== exceeds(other)) return exceeds(one);
    if (one.priority !== other.priority) return one.priority < other.priority;
    return (one.used ?? 0) - one.requested > (other.used ?? 0) - other.requested;
  }
  fc.assert(
    fc.property(fc.array(arbitraryCandidate, { maxLength: 8 }), (candidates) => {
      const order = rank('memory.available', candidates);
      expect(order).toHaveLength(candidates.filter(({ critical }) => !critical).length);
      expect(order.some(({ critical }) => critical)).toBe(false);
      const [first, ...others] = order;
      expect(first !== undefined && others.some((other) => mustPrecede(other, first))).toBe(false);
    }),
    { numRuns: 1000 },
  );
});
