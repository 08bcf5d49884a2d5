import { describe, expect, test } from 'vitest';
import type { Pod, PodSpec } from '#api/gen/core-v1.ts';
import type { PodStats } from '#api/gen/stats-v1alpha1.ts';
import { createMetricsRegistry } from '#api/kit/metrics.ts';
import type { PressureCondition } from '#eviction/signals.ts';
import { pressureRefusal } from '../admission/pressure.ts';
import { diskCandidate, liesOn, memoryCandidate, processCandidate } from './candidates.ts';
import { conditionEvents } from './condition-events.ts';
import { createEvictionMetrics } from './metrics.ts';
import { renewable } from './renewal.ts';

const RULES = { isCritical: () => false };
const pod = (spec: Partial<PodSpec> = {}): Pod => ({
  metadata: { name: 'a', uid: 'u' },
  spec: {
    containers: [
      { name: 'c', image: 'i', resources: { requests: { memory: '10', 'ephemeral-storage': '5' } } },
      { name: 'd', image: 'i' },
    ],
    ...spec,
  },
});

describe('candidates', () => {
  test('use the memory of their running containers', () => {
    const memory = new Map([
      ['c', 12],
      ['d', 3],
    ]);
    expect(memoryCandidate(pod(), memory, RULES)).toMatchObject({
      used: 15,
      requested: 10,
      priority: 0,
      containers: [
        { name: 'c', used: 12, requested: 10 },
        { name: 'd', used: 3, requested: 0 },
      ],
    });
    expect(memoryCandidate(pod(), new Map([['c', undefined]]), RULES).used).toBeUndefined();
    expect(memoryCandidate(pod(), undefined, RULES).used).toBe(0);
  });

  test('have the priority of their class without a number', () => {
    const priorityClassName = 'system-cluster-critical';
    expect(memoryCandidate(pod({ priorityClassName }), undefined, RULES).priority).toBe(2_000_000_000);
  });

  const time = '2026-01-01T00:00:00Z';
  const stats = {
    podRef: { name: 'a', namespace: 'default', uid: 'u' },
    startTime: time,
    containers: [
      {
        name: 'c',
        startTime: time,
        rootfs: { time, usedBytes: 7, inodesUsed: 1 },
        logs: { time, usedBytes: 2 },
      },
    ],
    'ephemeral-storage': { time, usedBytes: 100, inodesUsed: 9 },
    process_stats: { process_count: 4 },
  } as PodStats;

  test.each([
    ['nodefs.available', false, 100, 9],
    ['nodefs.available', true, 93, 2],
    ['imagefs.available', true, 7, 7],
    ['nodefs.inodesFree', true, 8, 0],
  ] as const)(
    'use the file system under %s pressure (separate image file system: %s)',
    (signal, apart, used, ofContainer) => {
      const found = diskCandidate(pod(), stats, liesOn(signal, apart), signal, RULES);
      expect(found.used).toBe(used);
      expect(found.containers[0]?.used).toBe(ofContainer);
    },
  );

  test('have processes', () => {
    expect(processCandidate(pod(), stats, RULES)).toMatchObject({ used: 4, requested: 0 });
    expect(processCandidate(pod(), undefined, RULES)).toMatchObject({ used: 0 });
  });
});

describe('renewable', () => {
  const status = (message: string) => ({ phase: 'Failed' as const, reason: 'Evicted', message });
  const low = status('The node was low on resource: memory. …');
  test.each([
    ['evicted for memory', low, {}, true],
    ['refused', status('The node had condition: [DiskPressure]. '), {}, true],
    ['outgrew its limit', status('Usage of EmptyDir volume "x" exceeds the limit "3Mi". '), {}, false],
    ['failed by itself', { ...low, reason: 'Error' }, {}, false],
    ['runs once', low, { restartPolicy: 'Never' as const }, false],
  ])('%s', (_, found, spec, expected) => {
    expect(renewable({ pod: pod(spec), status: found, deletion: undefined })).toBe(expected);
  });
});

describe('pressureRefusal', () => {
  const best = { metadata: { name: 'b' }, spec: { containers: [{ name: 'c', image: 'i' }] } };
  const tolerant = {
    ...best,
    spec: { ...best.spec, tolerations: [{ key: 'm', operator: 'Exists' as const }] },
  };
  test.each<[string, Pod, readonly PressureCondition[], boolean, boolean]>([
    ['nothing is short', best, [], false, true],
    ['memory, and it requests nothing', best, ['MemoryPressure'], false, false],
    ['memory, and it requests some', pod(), ['MemoryPressure'], false, true],
    ['memory, and it tolerates that', tolerant, ['MemoryPressure'], false, true],
    ['memory, and it is critical', best, ['MemoryPressure'], true, true],
    ['disk', pod(), ['DiskPressure'], false, false],
    ['process numbers', pod(), ['PIDPressure'], false, false],
    ['two things', pod(), ['MemoryPressure', 'DiskPressure'], false, false],
  ])('%s', (_, subject, conditions, critical, taken) => {
    const verdict = pressureRefusal(subject, new Set(conditions), { critical, memoryTaint: 'm' });
    expect(verdict === undefined).toBe(taken);
  });
});

test('a change of conditions emits upstream’s reasons', () => {
  const events = conditionEvents('n1', new Set(['MemoryPressure']), new Set(['DiskPressure']));
  expect(events.map(({ message }) => message)).toEqual([
    'Node n1 status is now: NodeHasSufficientMemory',
    'Node n1 status is now: NodeHasDiskPressure',
  ]);
});

test('evictions and preemptions are counted by resource', () => {
  const registry = createMetricsRegistry();
  const counts = createEvictionMetrics(registry);
  counts.evicted('memory.available', 2000);
  counts.evicted('emptydirfs.limit');
  counts.preempted('cpu');
  const lines = registry.text().split('\n');
  expect(lines).toContain('evictions{eviction_signal="memory.available"} 1');
  expect(lines).toContain('evictions{eviction_signal="emptydirfs.limit"} 1');
  expect(lines).toContain('eviction_stats_age_seconds_bucket{eviction_signal="memory.available",le="2.5"} 1');
  expect(lines).toContain('eviction_stats_age_seconds_sum{eviction_signal="memory.available"} 2');
  expect(registry.text()).not.toContain('age_seconds_sum{eviction_signal="emptydirfs.limit"}');
  expect(lines).toContain('preemptions{preemption_signal="cpu"} 1');
});
