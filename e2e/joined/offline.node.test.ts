/** A node whose API server goes away and comes back: what runs runs on, what is to run runs, and nothing is done twice. */
import { describe, expect, test } from 'vitest';
import type { Pod } from '#api/schema/gen/core-v1.ts';
import { isReady } from '../../testing/agent.ts';
import { eventually } from '../../testing/wait.ts';
import { containerId, sh, statusOf, WAIT } from '../lifecycle/support.ts';
import { type Joined, startJoined } from './support.ts';

const CORE = '/api/v1/namespaces/default';

const killed = (joined: Joined, pod: Pod) =>
  joined.cri.runtime.stopContainer({ containerId: containerId(pod, 'c'), timeout: 0n });

describe('a node whose API server is away', () => {
  test('restarts what ends, and tells it when the server is back', async () => {
    await using joined = await startJoined();
    await joined.run('stays', { containers: [sh('c', WAIT)] });
    await joined.run('falls', { containers: [sh('c', WAIT)] });
    const stays = await joined.shows('stays', isReady);
    const falls = await joined.shows('falls', isReady);
    await joined.plane.stop();
    await killed(joined, falls);
    const again = await joined.agent.waitFor('falls', (pod) => statusOf(pod, 'c')?.restartCount === 1);
    await joined.plane.restart();
    await joined.shows('falls', (pod) => containerId(pod, 'c') === containerId(again, 'c') && isReady(pod));
    expect(containerId(await joined.shows('stays', isReady), 'c')).toBe(containerId(stays, 'c'));
  });

  test('starts its pods with what it saved, and ends what was deleted meanwhile', async () => {
    await using joined = await startJoined();
    const config = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'conf' },
      data: { word: 'saved' },
    };
    await joined.plane.post(`${CORE}/configmaps`, config);
    await joined.run('needs', {
      automountServiceAccountToken: true,
      containers: [sh('c', WAIT, { envFrom: [{ configMapRef: { name: 'conf' } }] })],
    });
    await joined.run('healthy', { containers: [sh('c', WAIT)] });
    await joined.run('deleted', { containers: [sh('c', WAIT)] });
    const healthy = await joined.shows('healthy', isReady);
    const needs = await joined.shows('needs', isReady);
    await joined.shows('deleted', isReady);

    await joined.agent.stop('SIGKILL');
    // The server alone knows of this one's end.
    await joined.remove('deleted', { gracePeriodSeconds: 0 });
    await joined.isGone('deleted');
    await joined.plane.stop();
    // What a boot of the node leaves of a pod.
    for (const { id } of await sandboxesOf(joined, needs)) {
      await joined.cri.runtime.stopPodSandbox({ podSandboxId: id });
      await joined.cri.runtime.removePodSandbox({ podSandboxId: id });
    }
    await joined.agent.start();
    const renewed = await joined.agent.waitFor('needs', isReady);
    expect(containerId(renewed, 'c')).not.toBe(containerId(needs, 'c'));
    expect(renewed.metadata?.uid).toBe(needs.metadata?.uid);
    await joined.agent.waitFor('deleted', isReady);

    await joined.plane.restart();
    expect(await eventually(async () => (await joined.agent.pod('deleted')) === undefined)).toBe(true);
    await joined.shows('needs', (pod) => containerId(pod, 'c') === containerId(renewed, 'c'));
    expect(containerId(await joined.shows('healthy', isReady), 'c')).toBe(containerId(healthy, 'c'));
    expect(statusOf(await joined.shows('healthy', isReady), 'c')?.restartCount).toBe(0);
  });
});

async function sandboxesOf({ cri }: Joined, pod: Pod): Promise<readonly { readonly id: string }[]> {
  const { items } = await cri.runtime.listPodSandbox({});
  return items.filter(({ metadata }) => metadata?.uid === pod.metadata?.uid);
}
