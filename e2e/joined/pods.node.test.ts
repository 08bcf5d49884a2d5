/** Pods from the API server: run, told of, changed in place, ended. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isReady } from '../../testing/agent.ts';
import { containerId, sh, statusOf, WAIT } from '../lifecycle/support.ts';
import { type Joined, startJoined } from './support.ts';

describe.concurrent('pods of the API server', () => {
  let joined: Joined;
  beforeAll(async () => {
    joined = await startJoined();
  });
  afterAll(() => joined[Symbol.asyncDispose]());

  test('run, and the server is told', async () => {
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
});
