import { describe, expect, test } from 'vitest';
import type { PodDisruptionBudgetStatus } from '#api/gen/policy-v1.ts';
import { podOf } from '../workloads-kit/kit.fixture.ts';
import type { PodFacts } from '../workloads-kit/pod-facts.ts';
import {
  budgetStatus,
  countHealthy,
  DISRUPTION_MS,
  decideDisruptions,
  expectPods,
  failedStatus,
} from './decide.ts';

const NOW = '2026-01-01T00:10:00Z';
const NOW_MS = Date.parse(NOW);
const LONG_AGO = '2026-01-01T00:00:00Z';

const owned = (name: string, owner: string, changes: Partial<PodFacts> = {}): PodFacts =>
  podOf(name, {
    owner: { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: owner, uid: owner, controller: true },
    ...changes,
  });
const SCALES: Readonly<Record<string, number>> = { one: 5, two: 2 };
const scalerOf = ({ owner }: PodFacts): { uid: string; replicas: number } => {
  const replicas = SCALES[owner?.uid ?? ''];
  if (replicas === undefined) throw new Error('no scale');
  return { uid: owner?.uid ?? '', replicas };
};

describe('expectPods', () => {
  const pods = [owned('a', 'one'), owned('b', 'one'), owned('c', 'two'), podOf('d')];

  test.each<[Parameters<typeof expectPods>[0], number, number, readonly string[]]>([
    [{ maxUnavailable: 2 }, 7, 5, ['d']],
    [{ maxUnavailable: 9 }, 7, 0, ['d']],
    [{ maxUnavailable: '30%' }, 7, 4, ['d']],
    [{ minAvailable: 3 }, 4, 3, []],
    [{ minAvailable: '50%' }, 7, 4, ['d']],
    [{ minAvailable: 0 }, 4, 0, []],
    [{}, 0, 0, []],
  ])('%j', (spec, expectedPods, desiredHealthy, unmanaged) => {
    expect(expectPods(spec, pods, scalerOf)).toEqual({ expectedPods, desiredHealthy, unmanaged });
  });

  test('does not read scales if minAvailable is a number', () => {
    expect(expectPods({ minAvailable: 1 }, [owned('x', 'unknown')], scalerOf).expectedPods).toBe(1);
    expect(() => expectPods({ maxUnavailable: 1 }, [owned('x', 'unknown')], scalerOf)).toThrow('no scale');
  });
});

describe('decideDisruptions', () => {
  const since = (agoMs: number): string => new Date(NOW_MS - agoMs).toISOString();

  test('pending disruptions stay, undeleted pods are reported, the rest is removed', () => {
    const remembered = {
      fresh: since(1000),
      late: since(DISRUPTION_MS + 1000),
      going: since(1000),
      gone: since(1000),
    };
    const pods = [podOf('fresh'), podOf('late'), podOf('going', { deleting: true }), podOf('other')];
    const found = decideDisruptions(remembered, pods, NOW_MS);
    expect(Object.keys(found.disrupted)).toEqual(['fresh']);
    expect(found.undeleted.map(({ name }) => name)).toEqual(['late']);
    expect(found.recheckMs).toBe(DISRUPTION_MS - 1000 + 1);
  });

  test('without evictions there is nothing to recheck', () => {
    expect(decideDisruptions(undefined, [podOf('a')], NOW_MS)).toEqual({ disrupted: {}, undeleted: [] });
  });
});

test('countHealthy omits unready, terminating and evicted pods', () => {
  const pods = [podOf('a'), podOf('b', { ready: false }), podOf('c', { deleting: true }), podOf('d')];
  expect(countHealthy(pods, { disrupted: { d: NOW }, undeleted: [] })).toBe(1);
});

describe('budgetStatus', () => {
  const none = { disrupted: {}, undeleted: [] };
  const observed = { generation: 3, before: undefined, nowMs: NOW_MS };

  test.each([
    [{ expectedPods: 3, desiredHealthy: 2 }, 3, 1, 'SufficientPods'],
    [{ expectedPods: 3, desiredHealthy: 2 }, 2, 0, 'InsufficientPods'],
    [{ expectedPods: 3, desiredHealthy: 2 }, 1, 0, 'InsufficientPods'],
    [{ expectedPods: 0, desiredHealthy: 0 }, 0, 0, 'InsufficientPods'],
    [{ expectedPods: 0, desiredHealthy: 0 }, 2, 0, 'InsufficientPods'],
  ])('%j with %d healthy allows %d', (expectation, healthy, allowed, reason) => {
    const status = budgetStatus({ ...expectation, unmanaged: [] }, healthy, none, observed);
    expect(status).toMatchObject({ disruptionsAllowed: allowed, observedGeneration: 3 });
    expect(status.conditions).toEqual([
      {
        type: 'DisruptionAllowed',
        status: allowed > 0 ? 'True' : 'False',
        observedGeneration: 3,
        lastTransitionTime: NOW,
        reason,
        message: '',
      },
    ]);
  });

  test('the transition time of an unchanged condition stays, and so do other conditions', () => {
    const condition = (type: string): NonNullable<PodDisruptionBudgetStatus['conditions']>[number] => ({
      type,
      status: 'True',
      lastTransitionTime: LONG_AGO,
      reason: 'R',
      message: '',
    });
    const before = {
      disruptionsAllowed: 1,
      currentHealthy: 1,
      desiredHealthy: 1,
      expectedPods: 1,
      conditions: [condition('Else'), condition('DisruptionAllowed')],
    };
    const again = { ...observed, before };
    const expectation = { expectedPods: 2, desiredHealthy: 1, unmanaged: [] };
    expect(budgetStatus(expectation, 2, none, again).conditions).toMatchObject([
      { type: 'Else', reason: 'R' },
      { type: 'DisruptionAllowed', reason: 'SufficientPods', lastTransitionTime: LONG_AGO },
    ]);
    expect(failedStatus(again, 'why')).toMatchObject({
      disruptionsAllowed: 0,
      currentHealthy: 1,
      conditions: [
        { type: 'Else' },
        { status: 'False', reason: 'SyncFailed', message: 'why', lastTransitionTime: NOW },
      ],
    });
  });
});
