import { expect, test } from 'vitest';
import type { ContainerStatus, PodStatus } from '#api/gen/core-v1.ts';
import { stateErrors, stepErrors } from '../../testing/pod-status-rules.ts';
import { endOfUnseen } from './released-status.ts';

const NOW_MS = Date.parse('2026-01-01T00:01:00Z');
const TIME = '2026-01-01T00:00:00Z';
const base = { name: 'a', image: 'i', imageID: 'i', restartCount: 0, lastState: {} };
const end = { exitCode: 0, reason: 'Completed', startedAt: TIME, finishedAt: TIME, containerID: 'x' };
const running = { ...base, containerID: 'x', ready: true, state: { running: { startedAt: TIME } } };
const done = { ...base, containerID: 'x', ready: false, state: { terminated: end } };
const waiting = { ...base, ready: false, state: { waiting: { reason: 'ContainerCreating' } } };

const known = (phase: NonNullable<PodStatus['phase']>, ...containers: ContainerStatus[]): PodStatus => ({
  phase,
  conditions: [{ type: 'Ready', status: 'False', lastTransitionTime: TIME, reason: 'ContainersNotReady' }],
  containerStatuses: containers,
});

test.each<[string, PodStatus, PodStatus['phase'], readonly (number | undefined)[]]>([
  ['that ran', known('Running', running), 'Failed', [137]],
  ['that was done', known('Running', done), 'Succeeded', [0]],
  ['of which one container was done', known('Running', done, { ...running, name: 'b' }), 'Failed', [0, 137]],
  ['that never began', known('Pending', waiting), 'Failed', [undefined]],
  ['of which nothing is known', {}, 'Failed', []],
  ['that had ended', { ...known('Failed', done), reason: 'Evicted' }, 'Failed', [0]],
])('the end of a pod %s', (_, status, phase, codes) => {
  const last = endOfUnseen({ ...status }, NOW_MS);
  expect(last.phase).toBe(phase);
  expect((last.containerStatuses ?? []).map(({ state }) => state?.terminated?.exitCode)).toEqual(codes);
  expect([...stateErrors({ status: last }), ...stepErrors({ status }, { status: last })]).toEqual([]);
});
