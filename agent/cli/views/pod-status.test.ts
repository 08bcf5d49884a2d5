import { describe, expect, test } from 'vitest';
import type { ContainerState, ContainerStatus, Pod, PodStatus } from '#api/gen/core-v1.ts';
import { summarizePod } from './pod-status.ts';

const RUNNING: ContainerState = { running: { startedAt: '2026-01-01T00:00:00Z' } };
const waiting = (reason: string): ContainerState => ({ waiting: { reason } });
const ended = (exitCode: number, reason?: string, signal?: number): ContainerState => ({
  terminated: {
    exitCode,
    ...(reason === undefined ? {} : { reason }),
    ...(signal === undefined ? {} : { signal }),
  },
});

const container = (state: ContainerState, extra: Partial<ContainerStatus> = {}): ContainerStatus => ({
  name: 'c',
  image: 'i',
  imageID: '',
  ready: state.running !== undefined,
  restartCount: 0,
  state,
  ...extra,
});

interface Case {
  readonly status: PodStatus;
  readonly containers?: number;
  readonly inits?: readonly ('once' | 'Always')[];
  readonly deleted?: boolean;
}

const podOf = ({ status, containers = 1, inits = [], deleted = false }: Case): Pod => ({
  metadata: { name: 'web', ...(deleted ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}) },
  spec: {
    containers: Array.from({ length: containers }, (_, index) => ({ name: `c${index}` })),
    initContainers: inits.map((policy, index) => ({
      name: `i${index}`,
      ...(policy === 'Always' ? { restartPolicy: policy } : {}),
    })),
  },
  status,
});

const READY_CONDITION = [{ type: 'Ready', status: 'True' }] as const;
const INITIALIZED = [{ type: 'Initialized', status: 'True' }] as const;

describe('summarizePod', () => {
  test.each<[string, string, Case]>([
    ['the phase when nothing else is known', 'Pending', { status: { phase: 'Pending' } }],
    ['Unknown without any status', 'Unknown', { status: {} }],
    [
      'why a pod was refused rather than that its containers never ran',
      'OutOfcpu',
      {
        status: {
          phase: 'Failed',
          reason: 'OutOfcpu',
          containerStatuses: [container(waiting('ContainerCreating'))],
        },
      },
    ],
    [
      'why a pod was refused rather than that its init containers never ran',
      'OutOfcpu',
      {
        inits: ['once'],
        status: {
          phase: 'Failed',
          reason: 'OutOfcpu',
          initContainerStatuses: [container(waiting('PodInitializing'))],
          containerStatuses: [container(waiting('PodInitializing'))],
        },
      },
    ],
    ['the pod’s reason rather than its phase', 'Evicted', { status: { phase: 'Failed', reason: 'Evicted' } }],
    [
      'Running when its container runs',
      'Running',
      { status: { phase: 'Running', containerStatuses: [container(RUNNING)] } },
    ],
    [
      'why a container waits',
      'CrashLoopBackOff',
      { status: { phase: 'Running', containerStatuses: [container(waiting('CrashLoopBackOff'))] } },
    ],
    [
      'the container’s reason before the pod’s',
      'ImagePullBackOff',
      {
        status: {
          phase: 'Pending',
          reason: 'X',
          containerStatuses: [container(waiting('ImagePullBackOff'))],
        },
      },
    ],
    [
      'the first of several reasons',
      'ErrImagePull',
      {
        containers: 2,
        status: {
          phase: 'Pending',
          containerStatuses: [container(waiting('ErrImagePull')), container(waiting('ContainerCreating'))],
        },
      },
    ],
    [
      'how a container ended',
      'OOMKilled',
      { status: { phase: 'Failed', containerStatuses: [container(ended(137, 'OOMKilled'))] } },
    ],
    [
      'the exit code without a reason',
      'ExitCode:3',
      { status: { phase: 'Failed', containerStatuses: [container(ended(3))] } },
    ],
    [
      'the signal without a reason',
      'Signal:9',
      { status: { phase: 'Failed', containerStatuses: [container(ended(137, '', 9))] } },
    ],
    [
      'Completed when all are done',
      'Completed',
      { status: { phase: 'Succeeded', containerStatuses: [container(ended(0, 'Completed'))] } },
    ],
    [
      'Running when one is done, another runs, and the pod is ready',
      'Running',
      {
        containers: 2,
        status: {
          phase: 'Running',
          conditions: READY_CONDITION,
          containerStatuses: [container(ended(0, 'Completed')), container(RUNNING)],
        },
      },
    ],
    [
      'NotReady when one is done, another runs, and the pod is not ready',
      'NotReady',
      {
        containers: 2,
        status: {
          phase: 'Running',
          containerStatuses: [container(ended(0, 'Completed')), container(RUNNING)],
        },
      },
    ],
    [
      'how many init containers are done',
      'Init:1/3',
      {
        inits: ['once', 'once', 'once'],
        status: {
          phase: 'Pending',
          initContainerStatuses: [
            container(ended(0, 'Completed')),
            container(RUNNING),
            container(waiting('PodInitializing')),
          ],
        },
      },
    ],
    [
      'why an init container waits',
      'Init:ErrImagePull',
      { inits: ['once'], status: { initContainerStatuses: [container(waiting('ErrImagePull'))] } },
    ],
    [
      'how an init container failed',
      'Init:Error',
      { inits: ['once'], status: { initContainerStatuses: [container(ended(1, 'Error'))] } },
    ],
    [
      'the exit code of an init container without a reason',
      'Init:ExitCode:1',
      { inits: ['once'], status: { initContainerStatuses: [container(ended(1))] } },
    ],
    [
      'the signal of an init container without a reason',
      'Init:Signal:9',
      { inits: ['once'], status: { initContainerStatuses: [container(ended(137, '', 9))] } },
    ],
    [
      'the app containers once a sidecar has started',
      'Running',
      {
        inits: ['Always'],
        status: {
          phase: 'Running',
          initContainerStatuses: [container(RUNNING, { started: true })],
          containerStatuses: [container(RUNNING)],
        },
      },
    ],
    [
      'the app containers of a pod whose init containers ran before the runtime forgot them',
      'Running',
      {
        inits: ['once'],
        status: {
          phase: 'Running',
          conditions: INITIALIZED,
          initContainerStatuses: [container(waiting('PodInitializing'))],
          containerStatuses: [container(RUNNING)],
        },
      },
    ],
    [
      'Terminating when the pod is being removed',
      'Terminating',
      { deleted: true, status: { phase: 'Running', containerStatuses: [container(RUNNING)] } },
    ],
    [
      'the end of a pod that had ended before it was removed',
      'Completed',
      {
        deleted: true,
        status: { phase: 'Succeeded', containerStatuses: [container(ended(0, 'Completed'))] },
      },
    ],
  ])('shows %s', (_name, word, facts) => {
    expect(summarizePod(podOf(facts)).status).toBe(word);
  });

  test('counts ready containers against those of the spec, sidecars included', () => {
    const summary = summarizePod(
      podOf({
        containers: 2,
        inits: ['Always', 'once'],
        status: {
          initContainerStatuses: [container(RUNNING, { started: true }), container(ended(0, 'Completed'))],
          containerStatuses: [container(RUNNING)],
        },
      }),
    );
    expect([summary.ready, summary.total]).toEqual([2, 3]);
  });

  test('adds the restarts up and shows the time of the last one', () => {
    const before = (finishedAt: string): Partial<ContainerStatus> => ({
      restartCount: 2,
      lastState: { terminated: { exitCode: 1, finishedAt } },
    });
    const summary = summarizePod(
      podOf({
        containers: 2,
        status: {
          containerStatuses: [
            container(RUNNING, before('2026-01-01T00:05:00Z')),
            container(RUNNING, before('2026-01-01T00:01:00Z')),
          ],
        },
      }),
    );
    expect(summary).toMatchObject({ restarts: 4, lastRestart: '2026-01-01T00:05:00Z' });
  });

  test('counts the restarts of init containers while they run', () => {
    const summary = summarizePod(
      podOf({
        inits: ['once'],
        status: {
          initContainerStatuses: [container(waiting('CrashLoopBackOff'), { restartCount: 5 })],
          containerStatuses: [container(waiting('PodInitializing'), { restartCount: 1 })],
        },
      }),
    );
    expect(summary.restarts).toBe(5);
  });
});
