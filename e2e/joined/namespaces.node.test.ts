/** Namespaces that end with their pods, while the objects of their volumes go before them. */
import { expect, test } from 'vitest';
import type { Pod } from '#api/gen/core-v1.ts';
import { isReady } from '../../testing/agent.ts';
import { eventually } from '../../testing/wait.ts';
import { sh } from '../lifecycle/support.ts';
import { type Joined, NODE, startJoined } from './support.ts';

const NAMESPACES = ['end-1', 'end-2', 'end-3'];
const PODS = ['a', 'b', 'c', 'd'];
/** Takes no notice of its end, so that everything else of the namespace is gone before. */
const STUBBORN = "trap '' TERM; while :; do sleep 1; done";

async function fill({ plane }: Joined, namespace: string): Promise<void> {
  const at = `/api/v1/namespaces/${namespace}`;
  const make = async (path: string, object: object): Promise<void> =>
    expect([path, (await plane.post(path, { apiVersion: 'v1', ...object })).status]).toEqual([path, 201]);
  await make('/api/v1/namespaces', { kind: 'Namespace', metadata: { name: namespace } });
  await make(`${at}/configmaps`, { kind: 'ConfigMap', metadata: { name: 'conf' }, data: { a: 'b' } });
  await make(`${at}/secrets`, { kind: 'Secret', metadata: { name: 'key' }, stringData: { a: 'b' } });
  await eventually(async () => (await plane.get(`${at}/serviceaccounts/default`)).status === 200);
  for (const name of PODS) {
    const volumes = [
      { name: 'conf', configMap: { name: 'conf' } },
      { name: 'key', secret: { secretName: 'key' } },
      { name: 'all', projected: { sources: [{ configMap: { name: 'conf' } }, { secret: { name: 'key' } }] } },
    ];
    const volumeMounts = volumes.map((volume) => ({ name: volume.name, mountPath: `/v/${volume.name}` }));
    await make(`${at}/pods`, {
      kind: 'Pod',
      metadata: { name },
      spec: {
        nodeName: NODE,
        hostNetwork: true,
        terminationGracePeriodSeconds: 5,
        volumes,
        containers: [sh('c', STUBBORN, { volumeMounts })],
      },
    });
  }
}

test('namespaces end without a word about volumes that can no longer be refreshed', async () => {
  await using joined = await startJoined(['--sync-frequency=1s']);
  const { plane, agent } = joined;
  await Promise.all(NAMESPACES.map((namespace) => fill(joined, namespace)));
  const pods = NAMESPACES.flatMap((namespace) =>
    PODS.map((name) => `/api/v1/namespaces/${namespace}/pods/${name}`),
  );
  const areReady = async (): Promise<boolean> => {
    const found = await Promise.all(pods.map((path) => plane.get(path)));
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what the server says
    return found.every(({ text }) => isReady(JSON.parse(text) as Pod));
  };
  await eventually(areReady, { timeoutMs: 60_000, what: 'all pods are ready' });
  await Promise.all(NAMESPACES.map((name) => plane.call('DELETE', `/api/v1/namespaces/${name}`)));
  // Somebody deletes the objects while the pods end: this is what made the agent complain.
  for (const name of NAMESPACES) {
    await plane.call('DELETE', `/api/v1/namespaces/${name}/configmaps/conf`);
    await plane.call('DELETE', `/api/v1/namespaces/${name}/secrets/key`);
  }
  const [first = ''] = NAMESPACES;
  await eventually(
    async () => (await plane.get(`/api/v1/namespaces/${first}/configmaps/conf`)).status === 404,
  );
  const wereLeft = (await Promise.all(pods.map((path) => plane.get(path)))).some(
    ({ status }) => status === 200,
  );
  await eventually(
    async () => {
      const found = await Promise.all(NAMESPACES.map((name) => plane.get(`/api/v1/namespaces/${name}`)));
      return found.every(({ status }) => status === 404);
    },
    { timeoutMs: 60_000, what: 'all namespaces are gone' },
  );
  expect(wereLeft).toBe(true);
  expect((await agent.log()).split('\n').filter((line) => /refresh/i.test(line))).toEqual([]);
}, 180_000);
