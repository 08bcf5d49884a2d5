/** Limits of a size: upstream's rules as tables, and properties. */
import { describe, expect, test } from 'vitest';
import type { HorizontalPodAutoscalerBehavior } from '#api/gen/autoscaling-v2.ts';
import { createRandom } from '../../../testing/random.ts';
import { NOW } from './autoscaler.fixture.ts';
import { behaviorOf, longestPeriodMs, lowerLimit, type Rules, upperLimit } from './behavior.ts';
import { type History, resized, startHistory } from './history.ts';
import { type Normalized, type NormalizeInput, normalize } from './normalize.ts';

const EMPTY: History = { recommendations: [], ups: [], downs: [] };
const input = (changes: Partial<NormalizeInput>): NormalizeInput => ({
  current: 3,
  recommended: 3,
  range: { min: 1, max: 10 },
  behavior: undefined,
  downscaleWindowMs: 300_000,
  history: EMPTY,
  nowMs: NOW,
  ...changes,
});
const reasons = ({ verdicts }: Normalized): readonly string[] =>
  verdicts.map(({ type, status, reason }) => `${type}=${status} ${reason}`);
const recommendations = (...pairs: readonly (readonly [number, number])[]): History => ({
  ...EMPTY,
  recommendations: pairs.map(([replicas, agoMs]) => ({ replicas, atMs: NOW - agoMs })),
});
const behavior = (given: HorizontalPodAutoscalerBehavior): NormalizeInput['behavior'] =>
  behaviorOf(given, 300_000);

describe('without a behavior', () => {
  test.each<[string, Partial<NormalizeInput>, number, string, string]>([
    ['keeps', {}, 3, 'True ReadyForNewScale', 'False DesiredWithinRange'],
    ['grows', { recommended: 5 }, 5, 'True ReadyForNewScale', 'False DesiredWithinRange'],
    ['at most doubles', { recommended: 9 }, 6, 'True ReadyForNewScale', 'True ScaleUpLimit'],
    [
      'grows to four at once',
      { current: 1, recommended: 9 },
      4,
      'True ReadyForNewScale',
      'True ScaleUpLimit',
    ],
    [
      'stays below the maximum',
      { current: 8, recommended: 12 },
      10,
      'True ReadyForNewScale',
      'True TooManyReplicas',
    ],
    ['stays above the minimum', { recommended: 0 }, 1, 'True ReadyForNewScale', 'True TooFewReplicas'],
    ['shrinks to the minimum', { recommended: 1 }, 1, 'True ReadyForNewScale', 'False DesiredWithinRange'],
    [
      'applies the highest recent recommendation',
      { recommended: 1, history: recommendations([5, 310_000], [3, 200_000], [2, 100_000]) },
      3,
      'True ScaleDownStabilized',
      'False DesiredWithinRange',
    ],
    [
      'a recommendation at the edge of the window counts',
      { recommended: 1, history: recommendations([3, 300_000]) },
      3,
      'True ScaleDownStabilized',
      'False DesiredWithinRange',
    ],
    [
      'the first size of a target is a recommendation',
      { recommended: 1, history: startHistory(3, NOW) },
      3,
      'True ScaleDownStabilized',
      'False DesiredWithinRange',
    ],
  ])('%s', (_, changes, replicas, able, limited) => {
    const result = normalize(input(changes));
    expect([result.replicas, ...reasons(result)]).toEqual([
      replicas,
      `AbleToScale=${able}`,
      `ScalingLimited=${limited}`,
    ]);
  });
});

describe('with a behavior', () => {
  const fast = { stabilizationWindowSeconds: 0 };
  test.each<[string, HorizontalPodAutoscalerBehavior, Partial<NormalizeInput>, number, string, string]>([
    [
      'the defaults double',
      {},
      { recommended: 20, range: { min: 1, max: 50 } },
      7,
      'True ReadyForNewScale',
      'True ScaleUpLimit',
    ],
    [
      'the defaults shrink at once to the minimum',
      { scaleDown: fast },
      { current: 9, recommended: 1 },
      1,
      'True ReadyForNewScale',
      'False DesiredWithinRange',
    ],
    [
      'the window of the flag applies to scaling down',
      {},
      { recommended: 1, history: recommendations([3, 299_000]) },
      3,
      'True ScaleDownStabilized',
      'False DesiredWithinRange',
    ],
    [
      'a window for scaling up applies the lowest recommendation',
      { scaleUp: { stabilizationWindowSeconds: 60 } },
      { recommended: 8, history: recommendations([2, 61_000], [4, 30_000], [6, 10_000]) },
      4,
      'True ScaleUpStabilized',
      'False DesiredWithinRange',
    ],
    [
      'scaling down one pod a minute',
      { scaleDown: { ...fast, policies: [{ type: 'Pods', value: 1, periodSeconds: 60 }] } },
      { current: 5, recommended: 1 },
      4,
      'True ReadyForNewScale',
      'True ScaleDownLimit',
    ],
    [
      'scaling down is disabled',
      { scaleDown: { ...fast, selectPolicy: 'Disabled' } },
      { current: 5, recommended: 1 },
      5,
      'True ReadyForNewScale',
      'True ScaleDownLimit',
    ],
    [
      'scaling up is disabled',
      { scaleUp: { selectPolicy: 'Disabled' } },
      { recommended: 5 },
      3,
      'True ReadyForNewScale',
      'True ScaleUpLimit',
    ],
    [
      'the maximum comes before the rate',
      {},
      { current: 8, recommended: 20 },
      10,
      'True ReadyForNewScale',
      'True TooManyReplicas',
    ],
    [
      'the minimum comes before the rate',
      { scaleDown: fast },
      { current: 3, recommended: 1, range: { min: 2, max: 9 } },
      2,
      'True ReadyForNewScale',
      'True TooFewReplicas',
    ],
  ])('%s', (_, given, changes, replicas, able, limited) => {
    const result = normalize(input({ behavior: behavior(given), ...changes }));
    expect([result.replicas, ...reasons(result)]).toEqual([
      replicas,
      `AbleToScale=${able}`,
      `ScalingLimited=${limited}`,
    ]);
  });
});

describe('rates', () => {
  const rules = (select: string, ...policies: readonly (readonly [string, number, number])[]): Rules => ({
    windowMs: 0,
    select,
    policies: policies.map(([type, value, periodSeconds]) => ({ type, value, periodSeconds })),
  });
  const changed = (
    ups: readonly (readonly [number, number])[],
    downs: readonly (readonly [number, number])[] = [],
  ) => ({
    recommendations: [],
    ups: ups.map(([count, agoMs]) => ({ count, atMs: NOW - agoMs })),
    downs: downs.map(([count, agoMs]) => ({ count, atMs: NOW - agoMs })),
  });

  test.each<[string, number, History, Rules, number, number]>([
    ['the highest policy', 10, EMPTY, rules('Max', ['Pods', 4, 60], ['Percent', 50, 60]), 15, 5],
    ['the lowest policy', 10, EMPTY, rules('Min', ['Pods', 4, 60], ['Percent', 50, 60]), 14, 6],
    [
      'what was added in the period counts',
      10,
      changed([
        [3, 10_000],
        [9, 60_000],
      ]),
      rules('Max', ['Pods', 4, 60]),
      11,
      3,
    ],
    [
      'what was removed in the period counts',
      10,
      changed([], [[2, 10_000]]),
      rules('Max', ['Pods', 4, 60]),
      16,
      8,
    ],
    ['more than allowed was added', 10, changed([[8, 1000]]), rules('Max', ['Pods', 4, 60]), 10, -2],
    ['more than allowed was removed', 10, changed([], [[8, 1000]]), rules('Max', ['Pods', 4, 60]), 22, 10],
    ['percentages favour the larger size', 1, EMPTY, rules('Max', ['Percent', 10, 60]), 2, 0],
    ['all of a hundred percent', 7, EMPTY, rules('Max', ['Percent', 100, 15]), 14, 0],
  ])('%s', (_, current, history, given, upper, lower) => {
    expect([upperLimit(current, history, given, NOW), lowerLimit(current, history, given, NOW)]).toEqual([
      upper,
      lower,
    ]);
  });

  test('changes are kept as long as a policy reaches them', () => {
    const given = behaviorOf({ scaleUp: { policies: [{ type: 'Pods', value: 1, periodSeconds: 30 }] } }, 0);
    const at = (atMs: number, from: number, to: number, before: History): History =>
      resized(before, { from, to, atMs }, longestPeriodMs(given));
    const later = at(NOW, 4, 2, at(NOW - 30_000, 3, 4, at(NOW - 31_000, 2, 3, EMPTY)));
    expect(later.ups).toEqual([{ count: 1, atMs: NOW - 30_000 }]);
    expect(later.downs).toEqual([{ count: 2, atMs: NOW }]);
  });
});

test('properties: the size stays within its range and never jumps over the recommendation', () => {
  const random = createRandom(7);
  const upTo = (most: number): number => random.below(most + 1);
  for (let round = 0; round < 2000; round += 1) {
    const min = upTo(5);
    const max = Math.max(1, min) + upTo(20);
    const current = min + upTo(max - min);
    const recommended = upTo(40);
    const given =
      round % 2 === 0 ? undefined : behavior({ scaleDown: { stabilizationWindowSeconds: upTo(600) } });
    const history = recommendations(
      ...Array.from({ length: upTo(4) }, () => [upTo(40), upTo(900_000)] as const),
    );
    const result = normalize(input({ current, recommended, range: { min, max }, behavior: given, history }));
    expect(result.replicas).toBeGreaterThanOrEqual(min);
    expect(result.replicas).toBeLessThanOrEqual(max);
    expect(result.replicas).toBeGreaterThanOrEqual(Math.min(current, recommended));
    expect(result.history.recommendations.at(-1)).toEqual({ replicas: recommended, atMs: NOW });
  }
});
