import { describe, expect, test } from 'vitest';
import { metric, NOW, pod } from './autoscaler.fixture.ts';
import type { PodMetric, ScaledPod } from './facts.ts';
import { groupPods } from './group-pods.ts';

const LIMITS = { cpuInitializationMs: 120_000, initialReadinessMs: 10_000 };
const ready = (agoMs: number, status = 'True'): NonNullable<ScaledPod['ready']> => ({
  status,
  sinceMs: NOW - agoMs,
});

interface Row {
  readonly title: string;
  readonly pod: Partial<ScaledPod>;
  readonly metric?: Partial<PodMetric> | 'none';
  readonly cpu: 'ready' | 'unready' | 'missing' | 'ignored';
  /** Default: as for the CPU. */
  readonly memory?: 'ready';
}

const old = { startMs: NOW - 200_000 };
const young = { startMs: NOW - 60_000 };
const ROWS: readonly Row[] = [
  { title: 'a ready pod', pod: { ...old, ready: ready(100_000) }, cpu: 'ready' },
  { title: 'a terminating pod', pod: { deleting: true }, cpu: 'ignored' },
  { title: 'a failed pod', pod: { phase: 'Failed' }, cpu: 'ignored' },
  { title: 'a pending pod', pod: { phase: 'Pending' }, cpu: 'unready' },
  { title: 'a running pod without a metric', pod: old, metric: 'none', cpu: 'missing' },
  { title: 'a succeeded pod without a metric', pod: { phase: 'Succeeded' }, metric: 'none', cpu: 'missing' },
  { title: 'a pod without a start time', pod: { ready: ready(0) }, cpu: 'unready', memory: 'ready' },
  {
    title: 'a young unready pod',
    pod: { ...young, ready: ready(10_000, 'False') },
    cpu: 'unready',
    memory: 'ready',
  },
  {
    title: 'a young pod whose window began before it was ready',
    pod: { ...young, ready: ready(20_000) },
    metric: { atMs: NOW, windowMs: 30_000 },
    cpu: 'unready',
    memory: 'ready',
  },
  {
    title: 'a young pod whose window began when it was ready',
    pod: { ...young, ready: ready(30_000) },
    metric: { atMs: NOW, windowMs: 30_000 },
    cpu: 'ready',
  },
  {
    title: 'an old pod that was never ready',
    pod: { ...old, ready: { status: 'False', sinceMs: old.startMs + 9000 } },
    cpu: 'unready',
    memory: 'ready',
  },
  {
    title: 'an old pod that was ready once',
    pod: { ...old, ready: { status: 'False', sinceMs: old.startMs + 10_000 } },
    cpu: 'ready',
  },
  {
    title: 'an old pod of unknown readiness',
    pod: { ...old, ready: { status: 'Unknown', sinceMs: old.startMs } },
    cpu: 'ready',
  },
];

const grouped = (row: Row, isCpu: boolean): string => {
  const { ready: _ready, startMs: _startMs, ...bare } = pod('a');
  const subject = { ...bare, ...row.pod };
  const metrics =
    row.metric === 'none' ? new Map<string, PodMetric>() : new Map([['a', { ...metric(1n), ...row.metric }]]);
  const found = groupPods([subject], { ...LIMITS, metrics, isCpu, nowMs: NOW });
  if (found.ready === 1) return 'ready';
  const [name] = (['unready', 'missing', 'ignored'] as const).filter((each) => found[each].includes('a'));
  return name ?? 'none';
};

describe('groupPods', () => {
  test.each(ROWS.map((row) => [row.title, row] as const))('%s', (_, row) => {
    expect([grouped(row, true), grouped(row, false)]).toEqual([row.cpu, row.memory ?? row.cpu]);
  });
});
