/** Node lifecycle controller with heartbeats simulated by the test: one node becomes silent and returns, then
 *  all. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Body, type Json, pod, STRATEGIC, usePlane } from './support.ts';

const FLAGS = [
  '--controllers=nodelifecycle,podgc',
  '--disable-admission-plugins=ServiceAccount',
  '--no-scheduler',
  // Heartbeats may be late on a busy machine.
  '--node-monitor-grace-period=5s',
  '--node-startup-grace-period=20s',
  '--terminated-pod-gc-threshold=2',
];
const BEAT_MS = 300;
const WAIT = { timeout: 20_000 };

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
}

const readyOf = ({ status }: Body): Condition | undefined =>
  (status['conditions'] as Condition[] | undefined)?.find(({ type }) => type === 'Ready');

describe('the life of nodes', () => {
  const plane = usePlane('plat', FLAGS);
  /** Names of the nodes that give signs of life. */
  const alive = new Set(['n1', 'n2', 'n3']);
  let beats: NodeJS.Timeout;
  let folder = '';

  const leasePath = (name = ''): string =>
    plane.path(
      'coordination/v1',
      `namespaces/${plane.words.nodeLeaseNamespace}/leases${name === '' ? '' : `/${name}`}`,
    );
  const taintDomain = (): string => `node.${plane.words.domain}`;
  const beat = async (name: string): Promise<void> => {
    const spec = { renewTime: new Date().toISOString().replace('Z', '000Z') };
    await plane.patch(leasePath(name), { spec });
  };
  const sayReady = async (name: string): Promise<void> => {
    const condition = { type: 'Ready', status: 'True', reason: 'AgentReady' };
    await plane.patch(`/api/v1/nodes/${name}/status`, { status: { conditions: [condition] } }, STRATEGIC);
  };
  const node = async (name: string): Promise<Body> => (await plane.get(`/api/v1/nodes/${name}`)).body;
  const taints = async (name: string): Promise<readonly string[]> =>
    (((await node(name)).spec['taints'] ?? []) as { key: string; effect: string }[])
      .map(({ key, effect }) => `${key}:${effect}`)
      .toSorted();

  beforeAll(async () => {
    folder = `${await plane.namespace()}/pods`;
    for (const name of alive) {
      await plane.post('/api/v1/nodes', { metadata: { name } });
      await plane.post(leasePath(), {
        metadata: { name },
        spec: { holderIdentity: name, leaseDurationSeconds: 40 },
      });
      await sayReady(name);
    }
    beats = setInterval(() => [...alive].forEach((name) => void beat(name).catch(() => undefined)), BEAT_MS);
  });
  afterAll(() => clearInterval(beats));

  const onNode = async (name: string, nodeName: string, tolerations: readonly Json[]): Promise<void> => {
    await plane.post(folder, pod(name, { nodeName, tolerations }));
    const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
    await plane.patch(`${folder}/${name}/status`, { status }, STRATEGIC);
  };

  test('a ready node has no taints, not even that of its first moment', async () => {
    await expect.poll(() => taints('n1'), WAIT).toEqual([]);
    await expect.poll(() => taints('n3'), WAIT).toEqual([]);
  });

  test('a silent node is unknown and tainted; its pods are not ready, and leave if they do not put up with it', async () => {
    const forever = { operator: 'Exists' };
    const oneSecond = { operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 1 };
    await onNode('stays', 'n3', [forever]);
    await onNode('leaves', 'n3', [oneSecond]);
    await onNode('elsewhere', 'n1', [oneSecond]);
    alive.delete('n3');
    await expect
      .poll(async () => readyOf(await node('n3')), WAIT)
      .toMatchObject({
        status: 'Unknown',
        reason: 'NodeStatusUnknown',
      });
    const both = [`${taintDomain()}/unreachable:NoExecute`, `${taintDomain()}/unreachable:NoSchedule`];
    await expect.poll(() => taints('n3'), WAIT).toEqual(both);
    const podOf = async (name: string): Promise<Body> => (await plane.get(`${folder}/${name}`)).body;
    await expect.poll(async () => (await podOf('leaves')).metadata.deletionTimestamp, WAIT).toBeDefined();
    await expect.poll(async () => readyOf(await podOf('stays')), WAIT).toMatchObject({ status: 'False' });
    expect((await podOf('stays')).metadata.deletionTimestamp).toBeUndefined();
    expect(readyOf(await podOf('elsewhere'))).toMatchObject({ status: 'True' });
    expect(await taints('n1')).toEqual([]);
  });

  test('a node that is back has no taints', async () => {
    alive.add('n3');
    await sayReady('n3');
    await expect.poll(() => taints('n3'), WAIT).toEqual([]);
  });

  test('a node out of use is tainted as long as it is', async () => {
    await plane.patch('/api/v1/nodes/n2', { spec: { unschedulable: true } });
    await expect.poll(() => taints('n2'), WAIT).toEqual([`${taintDomain()}/unschedulable:NoSchedule`]);
    await plane.patch('/api/v1/nodes/n2', { spec: { unschedulable: null } });
    await expect.poll(() => taints('n2'), WAIT).toEqual([]);
  });

  test('when every node is silent, no pod is evicted: probably the server was cut off', async () => {
    const names = [...alive];
    alive.clear();
    for (const name of names) {
      await expect.poll(async () => readyOf(await node(name)), WAIT).toMatchObject({ status: 'Unknown' });
    }
    for (const name of names) {
      await expect.poll(() => taints(name), WAIT).toEqual([`${taintDomain()}/unreachable:NoSchedule`]);
    }
  });

  test('of too many pods that ended the oldest is removed', async () => {
    const path = `${await plane.namespace()}/pods`;
    for (const name of ['old', 'newer', 'newest']) {
      await plane.post(path, pod(name, { nodeName: 'n1' }));
      await plane.patch(`${path}/${name}/status`, { status: { phase: 'Succeeded' } });
    }
    const left = async (): Promise<number> => (await plane.get(path)).body.items.length;
    await expect.poll(left, WAIT).toBe(2);
  });
});
