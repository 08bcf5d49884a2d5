import { describe, expect, test } from 'vitest';
import type { Node, Taint, Toleration } from '#api/gen/core-v1.ts';
import { leavesAtMs } from './eviction.ts';
import { lostConditions, observeSign, signOf, silenceLeftMs } from './health.ts';
import { decideTaints } from './taints.ts';
import { evictionRates, zoneState } from './zones.ts';

const NOW = '2026-01-01T00:00:00Z';
const LIMITS = { graceMs: 40_000, startupGraceMs: 60_000 };
const ready = (status: string) => ({ type: 'Ready', status, lastHeartbeatTime: 'h' });
const node = (status: NonNullable<Node['status']>, spec: Node['spec'] = {}): Node => ({ status, spec });

describe('signs of life', () => {
  test.each([
    ['the lease was renewed', 'h', 't2', 500],
    ['the heartbeat is a new one', 'h2', 't1', 500],
    ['nothing is new', 'h', 't1', 100],
  ])('%s', (_, heartbeat, lease, seenMs) => {
    const before = observeSign(undefined, signOf(node({ conditions: [ready('True')] }), 't1'), 100);
    const now = node({ conditions: [{ ...ready('True'), lastHeartbeatTime: heartbeat }] });
    expect(observeSign(before, signOf(now, lease), 500).seenMs).toBe(seenMs);
  });

  test('a node that never reported has the startup grace period', () => {
    const last = { sign: '', seenMs: 1000 };
    expect(silenceLeftMs(node({}), last, 41_000, LIMITS)).toBe(20_000);
    expect(silenceLeftMs(node({ conditions: [ready('False')] }), last, 41_000, LIMITS)).toBe(0);
  });
});

describe('conditions of a node that was lost', () => {
  test('become unknown, conditions of other components stay, and one that was never reported has its own reason', () => {
    const other = { type: 'NetworkUnavailable', status: 'False' };
    const conditions = lostConditions(node({ conditions: [other, ready('True')] }), NOW);
    expect(conditions?.map(({ type, status, reason }) => [type, status, reason])).toEqual([
      ['NetworkUnavailable', 'False', undefined],
      ['Ready', 'Unknown', 'NodeStatusUnknown'],
      ['MemoryPressure', 'Unknown', 'NodeStatusNeverUpdated'],
      ['DiskPressure', 'Unknown', 'NodeStatusNeverUpdated'],
      ['PIDPressure', 'Unknown', 'NodeStatusNeverUpdated'],
    ]);
    expect(lostConditions(node({ conditions: [...(conditions ?? [])] }), 'later')).toBeUndefined();
  });
});

describe('taints', () => {
  const prefix = 'node.example.com';
  const shown = (of: Node, mayEvict = true): readonly string[] | undefined =>
    decideTaints(of, { prefix, mayEvict, now: NOW })?.map(
      ({ key, effect, timeAdded }) => `${key.replace(`${prefix}/`, '')}:${effect}${timeAdded ?? ''}`,
    );
  const lost = { conditions: [ready('Unknown')] };
  const unreachable: Taint = { key: `${prefix}/unreachable`, effect: 'NoExecute', timeAdded: 'before' };

  test.each<[string, Node, boolean, readonly string[] | undefined]>([
    ['a ready node has none', node({ conditions: [ready('True')] }), true, undefined],
    ['a lost node', node(lost), true, ['unreachable:NoSchedule', `unreachable:NoExecute${NOW}`]],
    ['a node that never reported', node({}), true, ['not-ready:NoSchedule']],
    ['eviction is not allowed', node(lost), false, ['unreachable:NoSchedule']],
    [
      'a node that reports not ready',
      node({ conditions: [ready('False')] }),
      true,
      ['not-ready:NoSchedule', `not-ready:NoExecute${NOW}`],
    ],
    [
      'pressure, and taken out of use',
      node(
        { conditions: [ready('True'), { type: 'DiskPressure', status: 'True' }] },
        { unschedulable: true },
      ),
      true,
      ['disk-pressure:NoSchedule', 'unschedulable:NoSchedule'],
    ],
    [
      'back again: own taints go, those of others stay',
      node({ conditions: [ready('True')] }, { taints: [unreachable, { key: 'gpu', effect: 'NoExecute' }] }),
      true,
      ['gpu:NoExecute'],
    ],
    [
      'the time of an unchanged taint stays',
      node(lost, { taints: [unreachable] }),
      true,
      ['unreachable:NoExecutebefore', 'unreachable:NoSchedule'],
    ],
    [
      'eviction is no longer allowed',
      node(lost, { taints: [unreachable] }),
      false,
      ['unreachable:NoSchedule'],
    ],
  ])('%s', (_, of, mayEvict, wanted) => {
    expect(shown(of, mayEvict)).toEqual(wanted);
  });
});

describe('zones', () => {
  test.each([
    [{ nodes: 3, unready: 1 }, 'Normal'],
    [{ nodes: 3, unready: 2 }, 'Normal'],
    [{ nodes: 5, unready: 3 }, 'PartialDisruption'],
    [{ nodes: 6, unready: 3 }, 'Normal'],
    [{ nodes: 1, unready: 1 }, 'FullDisruption'],
  ])('%j is %s', (count, state) => {
    expect(zoneState(count)).toBe(state);
  });

  test.each<[Record<string, [number, number]>, Record<string, number>]>([
    [{ a: [3, 1] }, { a: 0.1 }],
    [{ a: [3, 3] }, { a: 0 }],
    [
      { a: [3, 3], b: [3, 0] },
      { a: 0.1, b: 0.1 },
    ],
    [
      { a: [5, 3], b: [3, 0] },
      { a: 0, b: 0.1 },
    ],
    [
      { a: [60, 40], b: [3, 0] },
      { a: 0.01, b: 0.1 },
    ],
    [
      { a: [3, 3], b: [2, 2] },
      { a: 0, b: 0 },
    ],
  ])('rates of %j', (zones, rates) => {
    const counts = Object.entries(zones).map(
      ([name, [nodes, unready]]) => [name, { nodes, unready }] as const,
    );
    expect(Object.fromEntries(evictionRates(new Map(counts)))).toEqual(rates);
  });
});

describe('when a pod leaves', () => {
  const nowMs = Date.parse('2026-01-01T00:01:00Z');
  const taint: Taint = { key: 'a', effect: 'NoExecute', timeAdded: NOW };
  const tolerate = (seconds?: number): Toleration => ({
    key: 'a',
    operator: 'Exists',
    ...(seconds === undefined ? {} : { tolerationSeconds: seconds }),
  });

  test.each<[string, readonly Taint[], readonly Toleration[], number | undefined]>([
    ['no taint', [], [], undefined],
    ['only a taint with effect NoSchedule', [{ key: 'a', effect: 'NoSchedule' }], [], undefined],
    ['not tolerated', [taint], [], 60],
    ['tolerated for ever', [taint], [tolerate()], undefined],
    ['tolerated for a time, since the taint was added', [taint], [tolerate(90)], 90],
    ['the shortest of several', [taint], [tolerate(90), tolerate(70)], 70],
    ['a time below zero is none', [taint], [tolerate(-1)], 0],
    ['one of two is not tolerated', [taint, { key: 'b', effect: 'NoExecute' }], [tolerate()], 60],
    ['without a time', [{ key: 'a', effect: 'NoExecute' }], [tolerate(30)], 90],
  ])('%s', (_, taints, tolerations, afterSeconds) => {
    const atMs = leavesAtMs(taints, tolerations, nowMs);
    expect(atMs).toBe(afterSeconds === undefined ? undefined : Date.parse(NOW) + afterSeconds * 1000);
  });
});
