import { describe, expect, test } from 'vitest';
import type { Pod, PodStatus } from '#api/gen/core-v1.ts';
import { roomFor } from '../admission/node-capacity.ts';
import { isCritical } from '../admission/resource-fit.ts';
import { staticPods } from '../admission/static-pods.ts';
import type { SourceName } from '../sources/types.ts';
import { createCapacityRetry } from './capacity-retry.ts';
import type { PodEntry } from './pod-manager.ts';

const podOf = (uid: string, cpu: string, more: Partial<NonNullable<Pod['spec']>> = {}): Pod => ({
  metadata: { uid },
  spec: { containers: [{ name: 'c', resources: { requests: { cpu } } }], ...more },
});
const entry = (pod: Pod, status: PodStatus, source: SourceName = 'file'): PodEntry => ({
  pod,
  origin: { source, location: '/m', document: '1' },
  status,
  end:
    status.phase === 'Failed' || status.phase === 'Succeeded'
      ? { phase: status.phase, reason: status.reason ?? '', message: '' }
      : undefined,
  deletion: undefined,
});
const RUNS: PodStatus = { phase: 'Running' };
const REFUSED: PodStatus = { phase: 'Failed', reason: 'OutOfcpu' };
const room = {
  allocatable: { cpu: 2000 },
  isStatic: staticPods(false),
  mayPreempt: ({ pod }: { readonly pod: Pod }) => isCritical(pod),
};

function setUp(...entries: PodEntry[]) {
  const renewed: string[] = [];
  const waiting = createCapacityRetry({
    entries: () => entries,
    occupants: () => entries.filter(({ end }) => end === undefined),
    refuse: (source, others) => roomFor(source, others, room),
    restart: (uid) => void renewed.push(uid),
  });
  return { entries, renewed, waiting };
}

describe('createCapacityRetry', () => {
  test('restarts the first pod that fits, then the next', () => {
    const { entries, renewed, waiting } = setUp(
      entry(podOf('a', '1'), RUNS),
      entry(podOf('large', '1500m'), REFUSED),
      entry(podOf('b', '1'), REFUSED),
      entry(podOf('c', '1'), REFUSED),
    );
    waiting.begin();
    expect(renewed).toEqual(['b']);
    entries[2] = { ...entry(podOf('b', '1'), REFUSED), deletion: { gracePeriodSeconds: 0, atMs: 0 } };
    waiting.look();
    entries[2] = entry(podOf('b', '1'), RUNS);
    waiting.look();
    expect(renewed).toEqual(['b']);
    entries[0] = entry(podOf('a', '1'), { phase: 'Succeeded' });
    waiting.look();
    expect(renewed).toEqual(['b', 'c']);
  });

  test('checks no pod that was rejected for another reason, and nothing while none was', () => {
    const { entries, renewed, waiting } = setUp(
      entry(podOf('a', '1'), { phase: 'Failed', reason: 'NodePorts' }),
      entry(podOf('b', '1'), { phase: 'Failed', reason: 'Evicted' }),
    );
    waiting.begin();
    entries.push(entry(podOf('d', '1'), REFUSED));
    waiting.look();
    expect(renewed).toEqual([]);
    waiting.note('d');
    waiting.look();
    expect(renewed).toEqual(['d']);
  });

  test('does not preempt others for a rejected pod', () => {
    const critical = podOf('vital', '1500m', { priorityClassName: 'system-node-critical' });
    const { renewed, waiting } = setUp(entry(podOf('a', '1'), RUNS, 'socket'), entry(critical, REFUSED));
    waiting.begin();
    expect(renewed).toEqual([]);
  });
});

describe('roomFor', () => {
  const vital = entry(podOf('v', '1500m', { priorityClassName: 'system-node-critical' }), RUNS);
  test.each<[string, PodEntry, readonly string[] | string]>([
    ['an applied pod makes room', entry(podOf('a', '1'), RUNS, 'socket'), ['a']],
    ['a static one does not', entry(podOf('a', '1'), RUNS), 'OutOfcpu'],
    ['a static one of a lower priority does', entry(podOf('a', '1', { priority: 5 }), RUNS), ['a']],
    [
      'one of the same priority does not',
      entry(podOf('a', '1', { priorityClassName: 'system-node-critical' }), RUNS, 'socket'),
      'OutOfcpu',
    ],
  ])('for a critical pod, %s', (_, other, expected) => {
    const verdict = roomFor(vital, [other], room);
    const found =
      verdict !== undefined && 'victims' in verdict
        ? verdict.victims.map(({ metadata }) => metadata?.uid)
        : verdict?.reason;
    expect(found).toEqual(expected);
  });

  test('others are rejected with the available amount, without preemption', () => {
    expect(roomFor(entry(podOf('p', '50'), RUNS), [entry(podOf('a', '1'), RUNS, 'socket')], room)).toEqual({
      reason: 'OutOfcpu',
      message: 'Pod was rejected: the node has insufficient cpu: requested 50000, used 1000, capacity 2000',
    });
  });
});
