import { stripVTControlCharacters } from 'node:util';
import { describe, expect, test } from 'vitest';
import type { ContainerStatus, Pod } from '#api/gen/core-v1.ts';
import { describePod, type PodLine } from './pod-line.ts';
import { createProgress } from './progress.ts';

const NOW_MS = Date.parse('2026-01-01T00:10:00Z');

function container(change: Partial<ContainerStatus> = {}): ContainerStatus {
  return { name: 'c', ready: true, restartCount: 0, image: 'i', imageID: '', ...change };
}

function pod(status: Pod['status'], change: Partial<Pod> = {}): Pod {
  return {
    metadata: { name: 'web', namespace: 'default' },
    spec: { containers: [{ name: 'c' }] },
    ...(status === undefined ? {} : { status }),
    ...change,
  };
}

describe('describePod', () => {
  test.each<[string, Pod, Partial<PodLine>]>([
    [
      'running and ready',
      pod({
        phase: 'Running',
        podIP: '10.0.0.2',
        startTime: '2026-01-01T00:09:30Z',
        containerStatuses: [container({ restartCount: 2 })],
      }),
      { status: 'Running', ready: '1/1', restarts: 2, age: '30s', ip: '10.0.0.2', settled: true },
    ],
    [
      'running, not ready',
      pod({ phase: 'Running', containerStatuses: [container({ ready: false })] }),
      { status: 'Running', ready: '0/1', settled: false },
    ],
    ['pending', pod({ phase: 'Pending' }), { status: 'Pending', ready: '0/1', settled: false, age: '' }],
    [
      'waiting',
      pod({
        phase: 'Running',
        containerStatuses: [container({ ready: false, state: { waiting: { reason: 'CrashLoopBackOff' } } })],
      }),
      { status: 'CrashLoopBackOff', settled: false },
    ],
    [
      'waiting for its init container',
      pod({
        phase: 'Pending',
        initContainerStatuses: [container({ ready: false, state: { waiting: { reason: 'ErrImagePull' } } })],
        containerStatuses: [container({ state: { waiting: { reason: 'PodInitializing' } }, ready: false })],
      }),
      { status: 'Init:ErrImagePull' },
    ],
    [
      'finished',
      pod({
        phase: 'Succeeded',
        containerStatuses: [
          container({ ready: false, state: { terminated: { exitCode: 0, reason: 'Completed' } } }),
        ],
      }),
      { status: 'Completed', settled: true },
    ],
    [
      'ending',
      pod({ phase: 'Running' }, { metadata: { name: 'w', deletionTimestamp: '2026-01-01T00:00:00Z' } }),
      { status: 'Terminating', name: 'default/w' },
    ],
  ])('%s', (_, given, expected) => {
    expect(describePod(given, NOW_MS)).toMatchObject(expected);
  });
});

function collect(columns: number | undefined) {
  const written: string[] = [];
  const progress = createProgress({ write: (text) => void written.push(text), columns });
  return { written, progress };
}

const LINE: PodLine = describePod(
  pod({ phase: 'Running', containerStatuses: [container({ ready: false })] }),
  NOW_MS,
);
const READY: PodLine = { ...LINE, ready: '1/1', settled: true, ip: '10.0.0.2' };

describe('createProgress', () => {
  test('writes a line for each change without a terminal', () => {
    const { written, progress } = collect(undefined);
    for (const line of [LINE, LINE, { ...LINE, age: '9s' }, READY]) progress.show([line]);
    expect(written).toEqual([
      '  default/web: Running, 0/1 ready\n',
      '  default/web: Running, 1/1 ready at 10.0.0.2\n',
    ]);
  });

  test('redraws the table in place on a terminal, only when it changed', () => {
    const { written, progress } = collect(80);
    for (const line of [LINE, LINE, READY]) progress.show([line]);
    expect(written).toHaveLength(2);
    expect(written[1]?.startsWith('\u001b[2A\u001b[0J')).toBe(true);
  });

  test('never writes a row wider than the terminal', () => {
    const { written, progress } = collect(20);
    progress.show([READY]);
    const plain = stripVTControlCharacters(written[0] ?? '');
    expect(Math.max(...plain.split('\n').map((row) => row.length))).toBeLessThanOrEqual(20);
  });
});
