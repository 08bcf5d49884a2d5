/** The server's own metrics API, without an extension server: usage of a real node and its containers, by
 *  upstream's client and plain requests. */
import { beforeAll, describe, expect, test } from 'vitest';
import type { NodeMetrics, PodMetrics } from '#api/gen/metrics-v1beta1.ts';
import { milliValue, quantityToNumber } from '#api/meta/quantity.ts';
import { eventually } from '../../testing/wait.ts';
import { sh, WAIT } from '../lifecycle/support.ts';
import type { Body } from '../plane/support.ts';
import { useKubectl } from '../plane-clients/kubectl.ts';
import { useNode } from './support.ts';

const node = useNode();
const { plane } = node;
const kubectl = useKubectl(() => plane.server.platconfigFile);
const { apiGroupDomain } = plane.words;
const GROUP = `metrics.${apiGroupDomain}`;
const API = `/apis/${GROUP}/v1beta1`;
const LIMIT_MILLICORES = 200;

// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- what the server sends is what is tested
const as = <T>(body: unknown): T => body as T;

const BUSY = { limits: { cpu: `${LIMIT_MILLICORES}m`, memory: '64Mi' } };

let busy: string;
let calm: string;

beforeAll(async () => {
  busy = await node.run('busy', {
    containers: [sh('loop', 'while :; do :; done', { resources: BUSY }), sh('other', WAIT)],
  });
  calm = await node.run('calm', { containers: [sh('main', WAIT)] });
  await plane.patch(`/api/v1/namespaces/default/pods/${calm}`, { metadata: { labels: { mood: 'calm' } } });
  await plane.patch('/api/v1/nodes/n1/status', {
    status: { capacity: { cpu: '2', memory: '16Gi' }, allocatable: { cpu: '2', memory: '16Gi' } },
  });
  await plane.post('/api/v1/namespaces', { metadata: { name: 'empty' } });
  await plane.post('/api/v1/nodes', { metadata: { name: 'silent' } });
});

describe('upstream’s client', () => {
  test('shows the usage of nodes from the first request on', async () => {
    const rows = await kubectl.table('top nodes');
    const row = rows.find(([name]) => name === 'n1') ?? [];
    expect(Number(row[1]?.replace('m', ''))).toBeGreaterThan(0);
    expect(row[2]).toMatch(/^\d+%$/);
    expect(Number(row[3]?.replace('Mi', ''))).toBeGreaterThan(0);
    expect(row[4]).toMatch(/^\d+%$/);
  });

  test('shows the usage of pods, of their containers, and of those with a label', async () => {
    const [, ...pods] = await kubectl.table('top pods --sort-by=cpu');
    expect(pods.map(([name]) => name)).toEqual([busy, calm]);
    const containers = await kubectl.table('top pods --containers');
    expect(
      containers
        .slice(1)
        .map(([pod, name]) => `${pod} ${name}`)
        .toSorted(),
    ).toEqual([`${busy} loop`, `${busy} other`, `${calm} main`].toSorted());
    const [, ...labelled] = await kubectl.table('top pods -A -l mood=calm');
    expect(labelled.map((row) => row.slice(0, 2))).toEqual([['default', calm]]);
    const [, ...one] = await kubectl.table(`top pod ${calm}`);
    expect(one.map(([name]) => name)).toEqual([calm]);
  });

  test('gets 403 for forbidden and 404 for missing objects', async () => {
    expect(await kubectl.fails('top pods --as=nobody')).toContain(
      `pods.${GROUP} is forbidden: User "nobody" cannot list resource "pods" in API group "${GROUP}"`,
    );
    expect(await kubectl.fails('top node absent')).toContain('"absent" not found');
    expect(await kubectl.fails('top pod absent')).toContain('pods "absent" not found');
    expect(await kubectl.run('top pods -n empty')).toMatchObject({
      err: expect.stringContaining('No resources found in empty namespace') as string,
    });
  });

  test('lists and explains the resources', async () => {
    const resources = await kubectl.ok(`api-resources --api-group=${GROUP} -o wide --no-headers`);
    expect(resources.split('\n').map((line) => line.split(/\s+/).slice(0, 4))).toEqual([
      ['nodes', `${GROUP}/v1beta1`, 'false', 'NodeMetrics'],
      ['pods', `${GROUP}/v1beta1`, 'true', 'PodMetrics'],
    ]);
    expect(await kubectl.ok(`explain pods --api-version=${GROUP}/v1beta1`)).toContain('containers');
    const [columns, ...rows] = await kubectl.table(`get nodes.${GROUP}`);
    expect(columns).toEqual(['NAME', 'CPU', 'MEMORY', 'WINDOW']);
    expect(rows.map(([name]) => name)).toEqual(['n1']);
    const [, local = []] = await kubectl.table(`get apiservices v1beta1.${GROUP}`);
    expect(local.slice(0, 3)).toEqual([`v1beta1.${GROUP}`, 'Local', 'True']);
  });
});

describe('requests', () => {
  const usages = async (): Promise<ReadonlyMap<string, PodMetrics['containers'][number]['usage']>> => {
    const { body } = await plane.get(`${API}/namespaces/default/pods/${busy}`);
    return new Map(as<PodMetrics>(body).containers.map(({ name, usage }) => [name, usage]));
  };

  // The first window is short, and the container may not get its share in it on a busy machine.
  test('show about the CPU that a container is limited to', { timeout: 60_000 }, async () => {
    const isClose = async (): Promise<number | undefined> => {
      const cpu = milliValue((await usages()).get('loop')?.['cpu'] ?? '0');
      return Math.abs(cpu - LIMIT_MILLICORES) <= 50 ? cpu : undefined;
    };
    const used = await eventually(isClose, { timeoutMs: 50_000, intervalMs: 500 });
    expect(used).toBeGreaterThan(0);
    const other = (await usages()).get('other');
    expect(milliValue(other?.['cpu'] ?? '1')).toBeLessThan(50);
    expect(quantityToNumber(other?.['memory'] ?? '0')).toBeGreaterThan(1000);
  });

  test('show when it was measured, over which time, and under the labels of the object', async () => {
    const { body } = await plane.get(`${API}/namespaces/default/pods?labelSelector=mood%3Dcalm`);
    expect(body.kind).toBe('PodMetricsList');
    const [found] = body.items;
    expect(found).toMatchObject({
      metadata: { name: calm, namespace: 'default', labels: { mood: 'calm' } },
      window: expect.stringMatching(/^[\d.]+s$/) as string,
    });
    const { timestamp } = as<PodMetrics>(found);
    expect(Date.now() - Date.parse(timestamp)).toBeLessThan(60_000);
    const { body: nodes } = await plane.get(`${API}/nodes?fieldSelector=metadata.name%3Dn1`);
    expect(nodes.items.map(({ metadata }) => metadata.name)).toEqual(['n1']);
    expect(as<NodeMetrics>(nodes.items[0]).usage['memory']).toMatch(/^\d+Ki$|^\d+$|^\d+Mi$/);
  });

  test('come in every form that others have', async () => {
    const protobuf = await plane.get(`${API}/nodes/n1`, { accept: plane.words.protobufContentType });
    expect(plane.protobuf.decode(protobuf.bytes)).toMatchObject({
      kind: 'NodeMetrics',
      metadata: { name: 'n1' },
    });
    expect((await plane.get(`${API}/pods`, { accept: 'application/yaml' })).text).toContain('PodMetricsList');
    const table = `application/json;as=Table;v=v1;g=meta.${apiGroupDomain}`;
    const { body } = await plane.get(`${API}/namespaces/default/pods`, { accept: table });
    expect(body.columnDefinitions.map(({ name }) => name)).toEqual(['Name', 'cpu', 'memory', 'Window']);
    expect(body.rows.map(({ cells }) => cells[0])).toEqual([busy, calm]);
  });

  test('are refused as upstream’s metrics server refuses them', async () => {
    const message = async (path: string): Promise<[number, string]> => {
      const { status, body } = await plane.get(`${API}${path}`);
      return [status, body.message];
    };
    expect(await message('/nodes?watch=true')).toEqual([
      405,
      `watch is not supported on resources of kind "nodes.${GROUP}"`,
    ]);
    expect(await message('/nodes/silent')).toEqual([404, `nodemetrics.${GROUP} "silent" not found`]);
    expect(await message('/nodes/absent')).toEqual([404, 'node "absent" not found']);
    expect(await message('/namespaces/default/pods/absent')).toEqual([404, 'pods "absent" not found']);
    await plane.post('/api/v1/namespaces/empty/pods', {
      metadata: { name: 'waiting' },
      spec: { containers: [{ name: 'main', image: 'none' }] },
    });
    expect(await message('/namespaces/empty/pods/waiting')).toEqual([
      404,
      `podmetrics.${GROUP} "empty/waiting" not found`,
    ]);
    expect((await plane.delete(`${API}/nodes/n1`)).status).toBe(405);
  });

  test('are allowed to those who may view a namespace', async () => {
    const role = (await plane.get(plane.path('rbac.authorization/v1', 'clusterroles/view'))).body as Body & {
      readonly rules: readonly { readonly apiGroups?: readonly string[] }[];
    };
    expect(role.rules.some(({ apiGroups }) => apiGroups?.includes(GROUP) === true)).toBe(true);
    await plane.post(plane.path('rbac.authorization/v1', 'namespaces/default/rolebindings'), {
      metadata: { name: 'viewers' },
      roleRef: { apiGroup: `rbac.authorization.${apiGroupDomain}`, kind: 'ClusterRole', name: 'view' },
      subjects: [{ kind: 'User', name: 'viewer', apiGroup: `rbac.authorization.${apiGroupDomain}` }],
    });
    await eventually(async () => (await kubectl.run('top pods --as=viewer')).code === 0);
    expect(await kubectl.fails('top nodes --as=viewer')).toContain('forbidden');
  });
});
