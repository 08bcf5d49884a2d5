import { describe, expect, test } from 'vitest';
import type { Pod } from '#api/gen/core-v1.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { typed } from '../view.ts';
import { podRow } from './pod-row.ts';
import { podWarnings } from './pod-warnings.ts';
import { changed, NOW_MS, objectOf } from './strategy.fixture.ts';

const D = VOCABULARIES.plat.domain;
const BASE = {
  metadata: { name: 'web', namespace: 'default', creationTimestamp: '2022-05-03T11:00:00Z' },
  spec: {
    containers: [
      { name: 'a', image: 'a:1' },
      { name: 'b', image: 'b:1' },
    ],
    initContainers: [
      { name: 'i', image: 'i:1' },
      { name: 'j', image: 'j:1' },
    ],
  },
};
const podWith = (changes: object): Pod => typed<Pod>(objectOf('core/v1.Pod', changed(BASE, changes)));

function status(name: string, state: object, more: object = {}): object {
  return { name, state, ready: false, restartCount: 0, image: '', imageID: '', ...more };
}
const RUNNING = { running: { startedAt: '2022-05-03T11:00:00Z' } };
const DONE = { terminated: { exitCode: 0, reason: 'Completed' } };
const up = (name: string): object => status(name, RUNNING, { ready: true });
const ended = (exitCode: number, more: object = {}): object => ({ terminated: { exitCode, ...more } });
const waiting = (reason: string): object => ({ waiting: { reason } });
const initDone = [status('i', DONE), status('j', DONE)];
const READY = [{ type: 'Ready', status: 'True' }];

describe('podRow', () => {
  test.each<[ready: string, word: string, restarts: string, status: object]>([
    ['0/2', 'Pending', '0', { phase: 'Pending' }],
    ['0/2', 'Evicted', '0', { phase: 'Failed', reason: 'Evicted' }],
    [
      '2/2',
      'Running',
      '0',
      { phase: 'Running', initContainerStatuses: initDone, containerStatuses: [up('a'), up('b')] },
    ],
    [
      '0/2',
      'Init:0/2',
      '0',
      { phase: 'Pending', initContainerStatuses: [status('i', RUNNING), status('j', {})] },
    ],
    [
      '0/2',
      'Init:1/2',
      '0',
      {
        phase: 'Pending',
        initContainerStatuses: [status('i', DONE), status('j', waiting('PodInitializing'))],
      },
    ],
    [
      '0/2',
      'Init:CrashLoopBackOff',
      '3',
      {
        phase: 'Pending',
        initContainerStatuses: [status('i', waiting('CrashLoopBackOff'), { restartCount: 3 })],
      },
    ],
    [
      '0/2',
      'Init:Error',
      '0',
      { phase: 'Pending', initContainerStatuses: [status('i', ended(1, { reason: 'Error' }))] },
    ],
    ['0/2', 'Init:ExitCode:7', '0', { phase: 'Pending', initContainerStatuses: [status('i', ended(7))] }],
    [
      '0/2',
      'Init:Signal:9',
      '0',
      { phase: 'Pending', initContainerStatuses: [status('i', ended(137, { signal: 9 }))] },
    ],
    [
      '1/2',
      'CrashLoopBackOff',
      '4',
      {
        phase: 'Running',
        containerStatuses: [status('a', waiting('CrashLoopBackOff'), { restartCount: 4 }), up('b')],
      },
    ],
    [
      '0/2',
      'ContainerCreating',
      '0',
      {
        phase: 'Pending',
        containerStatuses: [status('a', waiting('ContainerCreating')), status('b', waiting('ErrImagePull'))],
      },
    ],
    [
      '0/2',
      'Completed',
      '0',
      { phase: 'Succeeded', containerStatuses: [status('a', DONE), status('b', DONE)] },
    ],
    [
      '0/2',
      'OOMKilled',
      '0',
      {
        phase: 'Failed',
        containerStatuses: [status('a', ended(137, { reason: 'OOMKilled' })), status('b', DONE)],
      },
    ],
    [
      '0/2',
      'ExitCode:3',
      '0',
      { phase: 'Failed', containerStatuses: [status('a', ended(3)), status('b', DONE)] },
    ],
    [
      '0/2',
      'Signal:15',
      '0',
      { phase: 'Failed', containerStatuses: [status('a', ended(143, { signal: 15 }))] },
    ],
    ['1/2', 'NotReady', '0', { phase: 'Running', containerStatuses: [status('a', DONE), up('b')] }],
    [
      '1/2',
      'Running',
      '0',
      { phase: 'Running', conditions: READY, containerStatuses: [status('a', DONE), up('b')] },
    ],
    [
      '2/2',
      'Running',
      '3 (5m ago)',
      {
        phase: 'Running',
        containerStatuses: [
          status('a', RUNNING, {
            ready: true,
            restartCount: 2,
            lastState: ended(1, { finishedAt: '2022-05-03T11:55:00Z' }),
          }),
          status('b', RUNNING, {
            ready: true,
            restartCount: 1,
            lastState: ended(1, { finishedAt: '2022-05-03T11:20:00Z' }),
          }),
        ],
      },
    ],
  ])('shows %s %s %s', (ready, word, restarts, of) => {
    expect(podRow(podWith({ status: of }), NOW_MS).slice(0, 5)).toEqual([
      'web',
      ready,
      word,
      restarts,
      '60m',
    ]);
  });

  test('counts containers that start with the pod and stay', () => {
    const spec = { initContainers: [{ name: 'i', image: 'i', restartPolicy: 'Always' }] };
    const sidecar = (more: object): object => ({
      phase: 'Running',
      initContainerStatuses: [status('i', RUNNING, { restartCount: 2, ...more })],
      containerStatuses: [up('a'), up('b')],
    });
    const running = podWith({ spec, status: sidecar({ started: true, ready: true }) });
    expect(podRow(running, NOW_MS).slice(1, 4)).toEqual(['3/3', 'Running', '2']);
    const starting = podWith({ spec, status: sidecar({ started: false }) });
    expect(podRow(starting, NOW_MS).slice(1, 4)).toEqual(['0/3', 'Init:0/1', '2']);
  });

  test.each([
    [undefined, 'Terminating'],
    ['NodeLost', 'Unknown'],
  ])('shows a pod that is being deleted for reason %s as %s', (reason, word) => {
    const pod = podWith({
      metadata: { deletionTimestamp: '2022-05-03T12:00:00Z' },
      status: { phase: 'Running', ...(reason === undefined ? {} : { reason }) },
    });
    expect(podRow(pod, NOW_MS)[2]).toBe(word);
  });

  test('shows where the pod runs', () => {
    expect(podRow(podWith({}), NOW_MS).slice(5)).toEqual(['<none>', '<none>', '<none>', '<none>']);
    const pod = podWith({
      spec: { nodeName: 'n1', readinessGates: [{ conditionType: 'x.io/a' }, { conditionType: 'x.io/b' }] },
      status: {
        podIPs: [{ ip: '10.0.0.1' }],
        nominatedNodeName: 'n2',
        conditions: [{ type: 'x.io/b', status: 'True' }],
      },
    });
    expect(podRow(pod, NOW_MS).slice(5)).toEqual(['10.0.0.1', 'n1', 'n2', '1/2']);
  });
});

describe('podWarnings', () => {
  test.each<[object, readonly string[]]>([
    [{}, []],
    [
      { spec: { nodeSelector: { [`beta.${D}/os`]: 'linux', [`${D}/os`]: 'linux' } } },
      [`spec.nodeSelector[beta.${D}/os]: deprecated since v1.14; use "${D}/os" instead`],
    ],
    [
      {
        spec: {
          affinity: {
            nodeAffinity: {
              requiredDuringSchedulingIgnoredDuringExecution: {
                nodeSelectorTerms: [{ matchExpressions: [{ key: `beta.${D}/arch`, operator: 'Exists' }] }],
              },
              preferredDuringSchedulingIgnoredDuringExecution: [
                {
                  weight: 1,
                  preference: {
                    matchExpressions: [{ key: `failure-domain.beta.${D}/zone`, operator: 'Exists' }],
                  },
                },
              ],
            },
          },
        },
      },
      [
        `spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].key: deprecated since v1.14; use "${D}/arch" instead`,
        `spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchExpressions[0].key: deprecated since v1.17; use "topology.${D}/zone" instead`,
      ],
    ],
    [
      {
        spec: {
          topologySpreadConstraints: [
            {
              maxSkew: 1,
              topologyKey: `failure-domain.beta.${D}/region`,
              whenUnsatisfiable: 'DoNotSchedule',
            },
          ],
        },
      },
      [
        `spec.topologySpreadConstraints[0].topologyKey: deprecated since v1.17; use "topology.${D}/region" instead`,
      ],
    ],
    [
      { metadata: { annotations: { [`seccomp.security.alpha.${D}/pod`]: 'unconfined' } } },
      [
        `metadata.annotations[seccomp.security.alpha.${D}/pod]: deprecated since v1.19, non-functional in v1.25; use the "seccompProfile" field instead`,
      ],
    ],
    [
      { metadata: { annotations: { [`scheduler.alpha.${D}/critical-pod`]: '' } } },
      [
        `metadata.annotations[scheduler.alpha.${D}/critical-pod]: non-functional in v1.16+; use the "priorityClassName" field instead`,
      ],
    ],
    [
      { spec: { volumes: [{ name: 'v', gitRepo: { repository: 'x' } }] } },
      ['spec.volumes[0].gitRepo: deprecated in v1.11'],
    ],
    [{ spec: { imagePullSecrets: [{}] } }, ['spec.imagePullSecrets[0].name: invalid empty name ""']],
    [
      { spec: { terminationGracePeriodSeconds: -1 } },
      [
        'spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1',
      ],
    ],
    [
      {
        spec: {
          containers: [{ name: 'a', image: 'a', resources: { requests: { memory: '100m', cpu: '100m' } } }],
        },
      },
      [
        'spec.containers[0].resources.requests[memory]: fractional byte value "100m" is invalid, must be an integer',
      ],
    ],
  ])('of %j', (changes, warnings) => {
    expect(podWarnings(podWith(changes), VOCABULARIES.plat)).toEqual(warnings);
  });
});
