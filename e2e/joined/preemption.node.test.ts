/** Preemption on the node for a critical pod, of as few pods as possible. */
import { beforeAll, describe, expect, test } from 'vitest';
import type { EventList, Node, Pod } from '#api/gen/core-v1.ts';
import { milliValue } from '#api/meta/quantity.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { isReady } from '../../testing/agent.ts';
import { eventually } from '../../testing/wait.ts';
import { containerId, sh, WAIT } from '../lifecycle/support.ts';
import { useJoined } from './support.ts';

const { apiGroupDomain } = VOCABULARIES.plat;
const CRITICAL = 'system-node-critical';

describe('a critical pod', () => {
  let millicores = 0;
  const joined = useJoined();
  beforeAll(async () => {
    const node = await eventually(async () => {
      const found = (await joined.plane.get('/api/v1/nodes/n1')).json as Node;
      return found.status?.allocatable === undefined ? undefined : found;
    });
    millicores = milliValue(node.status?.allocatable?.['cpu'] ?? '0');
    const classes = `/apis/scheduling.${apiGroupDomain}/v1/priorityclasses`;
    const made = { apiVersion: `scheduling.${apiGroupDomain}/v1`, kind: 'PriorityClass' };
    await joined.plane.post(classes, { ...made, metadata: { name: 'important' }, value: 100 });
  });

  /** Runs a pod that requests this fraction of the node's CPUs. */
  function run(name: string, part: number, priorityClassName?: string): Promise<Pod> {
    const requests = { cpu: `${Math.floor(millicores * part)}m` };
    const spec = { containers: [sh('c', WAIT, { resources: { requests } })] };
    return joined.run(name, priorityClassName === undefined ? spec : { ...spec, priorityClassName });
  }

  test('preempts the least important pods that block it, and reports why', async () => {
    await run('important', 0.4, 'important');
    await run('humble', 0.4);
    const important = await joined.shows('important', isReady);
    await joined.shows('humble', isReady);
    await run('small', 0.1);
    await joined.shows('small', isReady);

    // Other pods get only the remaining capacity.
    await run('late', 0.4, 'important');
    const late = await joined.shows('late', ({ status }) => status?.phase === 'Failed');
    expect(late.status?.reason).toBe('OutOfcpu');

    await run('critical', 0.35, CRITICAL);
    await joined.shows('critical', isReady);
    const humble = await joined.shows('humble', ({ status }) => status?.phase === 'Failed');
    expect(humble.status).toMatchObject({
      reason: 'Preempting',
      message: 'Preempted in order to admit critical pod',
    });
    // Preempted alone: the other two can stay.
    expect(containerId(await joined.shows('important', isReady), 'c')).toBe(containerId(important, 'c'));
    await joined.shows('small', isReady);
    const reported = await eventually(async () => {
      const { items } = (await joined.plane.get('/api/v1/namespaces/default/events')).json as EventList;
      return items.find(({ reason }) => reason === 'Preempting');
    });
    expect(reported).toMatchObject({ type: 'Warning', involvedObject: { name: 'humble' } });
    expect(reported.message).toBe('Preempted in order to admit critical pod');
  });

  test('is rejected like others if it may not preempt', async () => {
    await run('huge', 1.1, CRITICAL);
    const huge = await joined.shows('huge', ({ status }) => status?.phase === 'Failed');
    expect(huge.status?.reason).toBe('OutOfcpu');
    await joined.shows('important', isReady);
    await joined.shows('critical', isReady);
  });
});
