import { expect, test } from 'vitest';
import type { Pod, PodStatus } from '#api/gen/core-v1.ts';
import { createPodRecorder } from './pod-recorder.ts';

const pod = (phase: NonNullable<PodStatus['phase']>, metadata: object = {}): Pod => ({
  metadata: { name: 'a', namespace: 'n', uid: '1', ...metadata },
  status: { phase, startTime: '2026-01-01T00:00:00Z' },
});
const deleted = { deletionTimestamp: '2026-01-01T00:00:00Z', deletionGracePeriodSeconds: 30 };

test.each<[string, readonly [type: string, pod: Pod][], readonly string[]]>([
  [
    'a pod that ends',
    [
      ['ADDED', pod('Running')],
      ['MODIFIED', pod('Failed')],
    ],
    [],
  ],
  [
    'a pod that lives again',
    [
      ['ADDED', pod('Failed')],
      ['MODIFIED', pod('Running')],
    ],
    ['n/a: phase went from Failed to Running'],
  ],
  [
    'another pod of the name',
    [
      ['ADDED', pod('Failed')],
      ['ADDED', pod('Running', { uid: '2' })],
    ],
    [],
  ],
  [
    'a pod that ends and is removed',
    [
      ['ADDED', pod('Running')],
      ['MODIFIED', pod('Running', deleted)],
      ['MODIFIED', pod('Failed', deleted)],
      ['DELETED', pod('Failed', { ...deleted, deletionGracePeriodSeconds: 0 })],
    ],
    [],
  ],
  [
    'a pod that is removed while it runs',
    [
      ['ADDED', pod('Running', deleted)],
      ['DELETED', pod('Running', { ...deleted, deletionGracePeriodSeconds: 0 })],
    ],
    ['n/a: was removed while Running'],
  ],
  [
    'a pod that is removed by force',
    [
      ['ADDED', pod('Running')],
      ['DELETED', pod('Running')],
    ],
    [],
  ],
])('the violations of %s', (_, events, errors) => {
  const recorder = createPodRecorder();
  for (const [type, state] of events) recorder.see(type, state);
  expect(recorder.errors()).toEqual(errors);
  expect(recorder.count()).toBe(events.length);
});
