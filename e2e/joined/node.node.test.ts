/** The Node object of a real agent. */
import { arch, availableParallelism, release } from 'node:os';
import { describe, expect, test } from 'vitest';
import type { Lease } from '#api/gen/coordination-v1.ts';
import type { Event, Node } from '#api/gen/core-v1.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { isReady } from '../../testing/agent.ts';
import { eventually } from '../../testing/wait.ts';
import { sh, WAIT } from '../lifecycle/support.ts';
import { NODE, useJoined } from './support.ts';

const { plat } = VOCABULARIES;
const GO_ARCH: Readonly<Record<string, string>> = { x64: 'amd64' };

const joined = useJoined([
  '--node-labels=rack=r1',
  '--system-reserved=cpu=100m',
  '--node-status-max-images=1',
  '--node-status-update-frequency=1s',
]);

async function get<T>(path: string): Promise<T> {
  const response = await joined.plane.get(path);
  if (response.status !== 200) throw new Error(`${path}: ${response.status} ${response.text}`);
  return response.json as T;
}
const node = (): Promise<Node> => get(`/api/v1/nodes/${NODE}`);
const lease = (): Promise<Lease> =>
  get(`/apis/coordination.${plat.apiGroupDomain}/v1/namespaces/${plat.nodeLeaseNamespace}/leases/${NODE}`);
const ready = ({ status }: Node) => status?.conditions?.find(({ type }) => type === 'Ready');
const readyNode = (): Promise<Node> =>
  eventually(async () => {
    const seen = await node();
    return ready(seen)?.status === 'True' && seen;
  });

async function reasonsOf(selector: string): Promise<readonly string[]> {
  const query = encodeURIComponent(selector);
  const { items } = await get<{ items: readonly Event[] }>(
    `/api/v1/namespaces/default/events?fieldSelector=${query}`,
  );
  return items.map(({ reason = '' }) => reason);
}

describe('the node of an agent', () => {
  test('is its machine and its runtime', async () => {
    const { metadata, status } = await readyNode();
    expect(metadata?.labels).toMatchObject({
      rack: 'r1',
      [`${plat.domain}/arch`]: GO_ARCH[arch()] ?? arch(),
    });
    expect(status?.nodeInfo).toMatchObject({
      kernelVersion: release(),
      containerRuntimeVersion: expect.stringMatching(/^containerd:\/\/\d/) as unknown,
      operatingSystem: 'linux',
    });
    expect(status?.nodeInfo?.bootID).not.toBe('');
    expect(Number(status?.capacity?.['cpu'])).toBeGreaterThanOrEqual(availableParallelism());
    expect(status?.allocatable?.['cpu']).toMatch(/900m$/);
    const [image] = await eventually(async () => {
      const { images = [] } = (await node()).status ?? {};
      return images.length > 0 && images;
    });
    expect(image?.names?.join()).toContain('local/');
    expect((await node()).status?.images).toHaveLength(1);
    expect(status?.addresses?.map(({ type }) => type)).toEqual(['InternalIP', 'Hostname']);
  });

  test('renews its lease, and emits events', async () => {
    const { metadata } = await readyNode();
    const { metadata: owned, spec } = await eventually(lease);
    expect(owned?.ownerReferences?.[0]?.uid).toBe(metadata?.uid);
    expect(spec?.holderIdentity).toBe(NODE);
    await eventually(async () =>
      (await reasonsOf(`involvedObject.kind=Node,involvedObject.name=${NODE}`)).includes('Starting'),
    );
    await joined.run('reported', { containers: [sh('c', WAIT)] });
    await joined.shows('reported', isReady);
    await eventually(async () =>
      (await reasonsOf('involvedObject.kind=Pod,involvedObject.name=reported')).includes('Started'),
    );
  });

  test('is preserved when the agent stops, and found again', async () => {
    const before = await readyNode();
    const { spec: old } = await eventually(lease);
    expect(await joined.agent.stop()).toBe(0);
    expect(ready(await node())?.status).toBe('True');
    await joined.agent.start();
    await eventually(async () => ((await lease()).spec?.renewTime ?? '') > (old?.renewTime ?? ''));
    const after = await readyNode();
    expect(after.metadata?.uid).toBe(before.metadata?.uid);
    expect(ready(after)?.lastTransitionTime).toBe(ready(before)?.lastTransitionTime);
  });

  test('gets the well-known labels of another configuration, and no other labels and taints', async () => {
    const zone = `topology.${plat.domain}/zone`;
    await joined.agent.stop();
    await joined.agent.start([`--node-labels=rack=r2,${zone}=z1`, '--register-with-taints=a=b:NoSchedule']);
    const { metadata, spec } = await eventually(async () => {
      const seen = await node();
      return seen.metadata?.labels?.[zone] === 'z1' && seen;
    });
    expect(metadata?.labels?.['rack']).toBe('r1');
    expect(spec?.taints?.filter(({ key }) => key === 'a') ?? []).toEqual([]);
  });
});
