import { describe, expect, test } from 'vitest';
import type { ContainerStatus, Pod, PodStatus } from '#api/gen/core-v1.ts';
import { removalErrors, stateErrors, stepErrors } from './pod-status-rules.ts';

const T1 = '2026-01-01T00:00:01Z';
const T2 = '2026-01-01T00:00:02Z';
const end = (id: string, more: object = {}) => ({
  exitCode: 1,
  reason: 'Error',
  startedAt: T1,
  finishedAt: T2,
  containerID: id,
  ...more,
});
const base = { name: 'a', image: 'i', imageID: 'i', ready: false, restartCount: 0 };
const running = (id = 'x', more: Partial<ContainerStatus> = {}): ContainerStatus => ({
  ...base,
  containerID: id,
  ready: true,
  state: { running: { startedAt: T1 } },
  ...more,
});
const ended = (id = 'x', more: Partial<ContainerStatus> = {}, how: object = {}): ContainerStatus => ({
  ...base,
  containerID: id,
  state: { terminated: end(id, how) },
  ...more,
});
const waiting = (more: Partial<ContainerStatus> = {}): ContainerStatus => ({
  ...base,
  state: { waiting: { reason: 'ContainerCreating' } },
  ...more,
});
const ready = (status: 'True' | 'False', lastTransitionTime = T1) => ({
  conditions: [{ type: 'Ready', status, lastTransitionTime } as const],
});
const pod = (phase: PodStatus['phase'], container: ContainerStatus, more: Partial<PodStatus> = {}): Pod => ({
  status: { ...(phase === undefined ? {} : { phase }), containerStatuses: [container], ...more },
});

describe('a state', () => {
  test.each<[string, Pod]>([
    ['waits', pod('Pending', waiting())],
    ['runs', pod('Running', running(), ready('True'))],
    ['runs again', pod('Running', running('y', { restartCount: 1, lastState: { terminated: end('x') } }))],
    ['has ended', pod('Failed', ended(), ready('False'))],
    [
      'ended unseen',
      pod('Failed', { ...base, state: { terminated: { exitCode: 137, reason: 'ContainerStatusUnknown' } } }),
    ],
  ])('in order: it %s', (_, state) => expect(stateErrors(state)).toEqual([]));

  test.each<[string, Pod, string]>([
    ['runs in a pod that is over', pod('Failed', running()), 'Failed while a run'],
    [
      'runs without an ID',
      pod('Running', { ...base, state: { running: { startedAt: T1 } } }),
      'without an ID',
    ],
    ['runs since no time', pod('Running', running('x', { state: { running: {} } })), 'without a start time'],
    ['ended without a reason', pod('Running', ended('x', {}, { reason: '' })), 'without a code or a reason'],
    ['ended at no time', pod('Running', ended('x', {}, { finishedAt: undefined })), 'ran from'],
    ['ended before it began', pod('Running', ended('x', {}, { startedAt: T2, finishedAt: T1 })), 'ran from'],
    ['ended without an ID', pod('Running', ended('x', {}, { containerID: undefined })), 'has no ID'],
    [
      'waits for its creation beside init containers',
      { ...pod('Pending', waiting()), spec: { containers: [], initContainers: [{ name: 'i' }] } },
      'waits with ContainerCreating',
    ],
    ['has no state', pod('Running', { ...base, state: {} }), 'has the states'],
    ['is ready when it is over', pod('Failed', ended(), ready('True')), 'Ready is true of a pod'],
    ['is ready when a container is not', pod('Running', waiting(), ready('True')), 'while a are not'],
  ])('with a violation: it %s', (_, state, violation) =>
    expect(stateErrors(state).join()).toContain(violation),
  );
});

describe('a step', () => {
  test.each<[string, Pod, Pod]>([
    ['starts', pod('Pending', waiting()), pod('Running', running())],
    ['ends', pod('Running', running()), pod('Failed', ended())],
    [
      'starts again',
      pod('Running', running()),
      pod('Running', running('y', { restartCount: 1, lastState: { terminated: end('x') } })),
    ],
    ['is lost', pod('Running', running()), pod('Running', waiting({ lastState: { terminated: end('x') } }))],
    ['is ready', pod('Running', running(), ready('False')), pod('Running', running(), ready('True', T2))],
  ])('in order: it %s', (_, before, after) => expect(stepErrors(before, after)).toEqual([]));

  test.each<[string, Pod, Pod, string]>([
    ['lives again', pod('Failed', ended()), pod('Running', ended()), 'from Failed to Running'],
    ['fails after its success', pod('Succeeded', ended()), pod('Failed', ended()), 'from Succeeded'],
    ['is pending again', pod('Running', running()), pod('Pending', ended()), 'to Pending'],
    ['has another reason', pod('Failed', ended(), { reason: 'Evicted' }), pod('Failed', ended()), 'reason'],
    [
      'starts at another time',
      pod('Running', running(), { startTime: T1 }),
      pod('Running', running(), { startTime: T2 }),
      'startTime',
    ],
    [
      'loses its address',
      pod('Running', running(), { podIP: '10.0.0.1' }),
      pod('Running', running()),
      'podIP',
    ],
    [
      'counts back',
      pod('Running', waiting({ restartCount: 3 })),
      pod('Running', waiting({ restartCount: 2 })),
      'from 3 to 2',
    ],
    ['runs after its end', pod('Running', ended()), pod('Running', running()), 'again after its end'],
    ['is another one uncounted', pod('Running', running()), pod('Running', running('y')), 'counts 0 to 0'],
    [
      'is another one after no end',
      pod('Running', running()),
      pod('Running', running('y', { restartCount: 1 })),
      'after no end',
    ],
    ['stops and has no end', pod('Running', running()), pod('Running', waiting()), 'has not ended'],
    ['forgets its end', pod('Running', ended()), pod('Running', waiting()), 'was lost'],
    [
      'ends otherwise',
      pod('Failed', ended()),
      pod('Failed', ended('x', {}, { message: 'm' })),
      'the end of x',
    ],
    [
      'reports its termination message late',
      pod('Running', ended()),
      pod(
        'Running',
        running('y', { restartCount: 1, lastState: { terminated: end('x', { message: 'm' }) } }),
      ),
      'the end of x',
    ],
    ['loses a container', pod('Running', running()), { status: { phase: 'Running' } }, 'is gone'],
    [
      'turns back time',
      pod('Running', running(), ready('False', T2)),
      pod('Running', running(), ready('True', T1)),
      'before its last change',
    ],
    [
      'changes without a change',
      pod('Running', running(), ready('True', T1)),
      pod('Running', running(), ready('True', T2)),
      'without a change',
    ],
    [
      'loses a condition',
      pod('Running', running(), ready('True')),
      pod('Running', running()),
      'condition Ready is gone',
    ],
  ])('with a violation: it %s', (_, before, after, violation) =>
    expect(stepErrors(before, after).join()).toContain(violation),
  );
});

test('the last state before an object is removed is an end', () => {
  expect(removalErrors(pod('Succeeded', ended()))).toEqual([]);
  expect(removalErrors(pod('Running', ended()))).toEqual(['was removed while Running']);
});
