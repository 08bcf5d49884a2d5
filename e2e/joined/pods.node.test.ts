/** Pods from the API server: run, reported, updated in place, stopped. */
import { describe, expect, test } from 'vitest';
import type { Pod } from '#api/gen/core-v1.ts';
import { isReady } from '../../testing/agent.ts';
import { eventually } from '../../testing/wait.ts';
import { containerId, isWaiting, sh, statusOf, WAIT } from '../lifecycle/support.ts';
import { OTHER_IMAGE, STRATEGIC, useJoined } from './support.ts';

const PODS = '/api/v1/namespaces/default/pods';

describe.concurrent('pods of the API server', () => {
  const joined = useJoined();

  test('run, and their status is reported to the server', async () => {
    const { metadata } = await joined.run('plain', { containers: [sh('c', WAIT)] });
    const pod = await joined.shows('plain', isReady);
    expect(pod.status?.phase).toBe('Running');
    expect(pod.status?.podIP).toBeTruthy();
    expect(pod.status?.qosClass).toBe('BestEffort');
    expect(pod.metadata?.uid).toBe(metadata?.uid);
    const { containers } = await joined.cri.runtime.listContainers({
      filter: { id: containerId(pod, 'c') },
    });
    expect(containers).toHaveLength(1);
  });

  test('end for good when they have done their work', async () => {
    await joined.run('done', { restartPolicy: 'Never', containers: [sh('c', 'exit 0')] });
    const pod = await joined.shows('done', ({ status }) => status?.phase === 'Succeeded');
    expect(statusOf(pod, 'c')?.state?.terminated?.exitCode).toBe(0);
  });

  test('are reported while they wait', async () => {
    await joined.run('stuck', {
      containers: [sh('c', WAIT, { envFrom: [{ secretRef: { name: 'none' } }] })],
    });
    const pod = await joined.shows('stuck', isWaiting('c', 'CreateContainerConfigError'));
    expect(pod.status?.phase).toBe('Pending');
    expect(pod.status?.conditions?.find(({ type }) => type === 'PodScheduled')?.status).toBe('True');
  });

  test('get another image in one container, and the others run on', async () => {
    await joined.run('renewed', { containers: [sh('a', WAIT), sh('b', WAIT)] });
    const before = await joined.shows('renewed', isReady);
    const spec = { containers: [{ name: 'a', image: OTHER_IMAGE }] };
    await joined.patch(`${PODS}/renewed`, { spec }, STRATEGIC);
    const after = await joined.shows(
      'renewed',
      (pod) => isReady(pod) && containerId(pod, 'a') !== containerId(before, 'a'),
    );
    expect(containerId(after, 'b')).toBe(containerId(before, 'b'));
    expect(statusOf(after, 'a')?.restartCount).toBe(1);
    expect(statusOf(after, 'b')?.restartCount).toBe(0);
  });

  test('end when a deadline is set that has passed', async () => {
    await joined.run('late', { containers: [sh('c', WAIT)] });
    await joined.shows('late', isReady);
    await joined.patch(`${PODS}/late`, { spec: { activeDeadlineSeconds: 1 } });
    const pod = await joined.shows('late', ({ status }) => status?.phase === 'Failed');
    expect(pod.status?.reason).toBe('DeadlineExceeded');
  });

  test('stop within their grace period, and then are deleted from the server', async () => {
    const grace = { terminationGracePeriodSeconds: 20 };
    const farewell = 'sleep 1; echo bye > /dev/termination-log; exit 3';
    const script = `trap "${farewell}" TERM; touch /armed; sleep 1000 & wait $!`;
    const readinessProbe = { exec: { command: ['test', '-e', '/armed'] }, periodSeconds: 1 };
    const containers = [sh('c', script, { readinessProbe })];
    await joined.run('leaves', { ...grace, containers }, { finalizers: ['test.io/hold'] });
    const pod = await joined.shows('leaves', isReady);
    await joined.remove('leaves');
    const last = await joined.shows(
      'leaves',
      ({ metadata, status }) =>
        metadata?.deletionGracePeriodSeconds === 0 &&
        status?.containerStatuses?.[0]?.state?.terminated !== undefined,
    );
    expect(statusOf(last, 'c')?.state?.terminated).toMatchObject({ exitCode: 3, message: 'bye\n' });
    const left = await joined.cri.runtime.listContainers({ filter: { id: containerId(pod, 'c') } });
    expect(left.containers).toEqual([]);
    await joined.patch(`${PODS}/leaves`, { metadata: { finalizers: null } });
    await joined.isGone('leaves');
  });

  test('are ended when they are deleted by force', async () => {
    await joined.run('forced', { containers: [sh('c', WAIT)] });
    const pod = await joined.shows('forced', isReady);
    await joined.remove('forced', { gracePeriodSeconds: 0 });
    await joined.isGone('forced');
    const filter = { id: containerId(pod, 'c') };
    const left = async () => (await joined.cri.runtime.listContainers({ filter })).containers.length;
    expect(await eventually(async () => (await left()) === 0, { timeoutMs: 20_000 })).toBe(true);
  });

  test('wait for what others say of them', async () => {
    const gate = { conditionType: 'test.io/fine' };
    await joined.run('gated', { readinessGates: [gate], containers: [sh('c', WAIT)] });
    const isSet = ({ status }: Pod, type: string, value: string): boolean =>
      status?.conditions?.some((one) => one.type === type && one.status === value) === true;
    const pod = await joined.shows('gated', (one) => isSet(one, 'ContainersReady', 'True'));
    expect(pod.status?.conditions?.find(({ type }) => type === 'Ready')).toMatchObject({
      status: 'False',
      reason: 'ReadinessGatesNotReady',
    });
    const conditions = [{ type: gate.conditionType, status: 'True' }];
    await joined.patch(`${PODS}/gated/status`, { status: { conditions } }, STRATEGIC);
    const ready = await joined.shows('gated', isReady);
    expect(isSet(ready, gate.conditionType, 'True')).toBe(true);
  });
});
