/** What a node refuses though it was given it, and how the API server is told. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Pod } from '#api/schema/gen/core-v1.ts';
import { eventually } from '../../testing/wait.ts';
import { sh, WAIT } from '../lifecycle/support.ts';
import { type Joined, startJoined } from './support.ts';

const failed = ({ status }: Pod): boolean => status?.phase === 'Failed';

describe('admission on the node', () => {
  let joined: Joined;
  beforeAll(async () => {
    joined = await startJoined();
    // Before that it is not known what the node has.
    await eventually(async () => {
      const { json } = (await joined.plane.get('/api/v1/nodes/n1')) as {
        json: { status?: { allocatable?: object } };
      };
      return json.status?.allocatable !== undefined;
    });
  });
  afterAll(() => joined[Symbol.asyncDispose]());

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
