/** Rejection of bound pods by the node, and its report to the API server. */
import { beforeAll, describe, expect, test } from 'vitest';
import type { Pod } from '#api/gen/core-v1.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { isReady } from '../../testing/agent.ts';
import { eventually } from '../../testing/wait.ts';
import { sh, WAIT } from '../lifecycle/support.ts';
import { useJoined } from './support.ts';

const failed = ({ status }: Pod): boolean => status?.phase === 'Failed';

const { apiGroupDomain } = VOCABULARIES.plat;

describe('admission on the node', () => {
  const joined = useJoined();
  beforeAll(async () => {
    // Allocatable is not known before.
    await eventually(async () => {
      const { json } = (await joined.plane.get('/api/v1/nodes/n1')) as {
        json: { status?: { allocatable?: object } };
      };
      return json.status?.allocatable !== undefined;
    });
  });

  test('runs a pod with the handler of its class', async () => {
    const api = `/apis/node.${apiGroupDomain}/v1`;
    const metadata = { name: 'plain' };
    const runtimeClass = { apiVersion: `node.${apiGroupDomain}/v1`, kind: 'RuntimeClass', metadata };
    await joined.plane.post(`${api}/runtimeclasses`, { ...runtimeClass, handler: 'runc' });
    await joined.run('classy', { runtimeClassName: 'plain', containers: [sh('c', WAIT)] });
    const pod = await joined.shows('classy', isReady);
    expect(pod.status?.phase).toBe('Running');
  });

  test.each([
    ['cpu', { containers: [sh('c', WAIT, { resources: { requests: { cpu: '4000' } } })] }, 'OutOfcpu'],
    ['labels', { nodeSelector: { zone: 'nowhere' }, containers: [sh('c', WAIT)] }, 'NodeAffinity'],
    ['system', { os: { name: 'windows' }, containers: [sh('c', WAIT)] }, 'PodOSNotSupported'],
  ])('refuses a pod for its %s, once and for all', async (name, spec, reason) => {
    await joined.run(name, { hostNetwork: false, ...spec });
    const pod = await joined.shows(name, failed);
    expect(pod.status?.reason).toBe(reason);
  });
});
