/** Permissions of nodes, by the node authorizer and the NodeRestriction plugin. Source: document 2 §2.7. */
import { beforeAll, describe, expect, test } from 'vitest';
import type { VocabularyName } from '#api/vocabulary.ts';
import { eventually } from '../../testing/wait.ts';
import { APPLY, type Client, JSON_PATCH, type Json, MERGE, STRATEGIC, tokens, usePlane } from './support.ts';

const NODES = tokens(
  'one,system:node:n1,,"system:nodes"',
  'two,system:node:n2,,"system:nodes"',
  'three,system:node:n3,,"system:nodes"',
);
/** A missing owner: the garbage collector would delete objects with only such owners. */
const OWNER = { apiVersion: 'v1', kind: 'Namespace', name: 'nothere', uid: 'nobody' };

/** Members of a part of an object. */
const partOf = (object: Json, part: string): object => object[part] ?? {};

describe.each<VocabularyName>(['plat', 'kubernetes'])('a node in the %s vocabulary', (vocabulary) => {
  const plane = usePlane(vocabulary, NODES);
  const { words } = plane;
  const node = plane.as('one');
  const other = plane.as('two');
  const third = plane.as('three');
  let at: string;
  let uid: string;

  const mirror = (name: string, change: object = {}) => ({
    metadata: {
      name,
      annotations: { [words.configMirror]: 'hash' },
      ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'n1', uid, controller: true }],
    },
    spec: { nodeName: 'n1', containers: [{ name: 'c', image: 'i' }] },
    ...change,
  });

  beforeAll(async () => {
    at = await plane.namespace();
    const made = await node.post('/api/v1/nodes', { metadata: { name: 'n1', labels: {} } });
    uid = made.body.metadata.uid ?? '';
    for (const [name, nodeName] of [
      ['mine', 'n1'],
      ['theirs', 'n2'],
    ] as const) {
      const volumes = [{ name: 'v', secret: { secretName: `of-${name}` } }];
      await plane.post(`${at}/secrets`, { metadata: { name: `of-${name}` } });
      await plane.post(`${at}/serviceaccounts`, { metadata: { name } });
      const spec = { nodeName, serviceAccountName: name, volumes, containers: [{ name: 'c', image: 'i' }] };
      await plane.post(`${at}/pods`, { metadata: { name }, spec });
    }
    await eventually(async () => (await node.get(`${at}/secrets/of-mine`)).status === 200);
  });

  test('reads the secrets of its pods, one by one', async () => {
    const one = '?fieldSelector=metadata.name%3Dof-mine';
    const statuses = await Promise.all(
      [
        node.get(`${at}/secrets/of-mine`),
        node.get(`${at}/secrets${one}`),
        node.get(`${at}/secrets/of-theirs`),
        node.get(`${at}/secrets`),
        node.get('/api/v1/secrets'),
        other.get(`${at}/secrets/of-mine`),
        other.get(`${at}/secrets/of-theirs`),
      ].map(async (reply) => (await reply).status),
    );
    expect(statuses).toEqual([200, 200, 403, 403, 403, 403, 200]);
  });

  test('watches one secret of its pods', async () => {
    const path = `${at}/secrets?watch=1&fieldSelector=metadata.name%3Dof-mine`;
    await using stream = await node.watch(path);
    expect(await stream.take(1)).toEqual(['ADDED of-mine']);
  });

  test.each([
    ['its own name', '/api/v1/nodes/n1', 200],
    ['the name of another', '/api/v1/nodes/n2', 403],
  ])('changes the node of %s', async (_, path, status) => {
    const name = path.slice(path.lastIndexOf('/') + 1);
    await plane.post('/api/v1/nodes', { metadata: { name } });
    const change = { metadata: { annotations: { seen: 'yes' } } };
    expect((await node.patch(path, change)).status).toBe(status);
  });

  test('gives itself some labels, and no taints', async () => {
    const set = (labels: object) => node.patch('/api/v1/nodes/n1', { metadata: { labels } });
    const replies = await Promise.all([
      set({ [`${words.nodeAgentLabelDomain}/x`]: '1' }),
      set({ [`node-restriction.${words.domain}/x`]: '1' }),
      set({ [`other.${words.domain}/x`]: '1' }),
      node.patch('/api/v1/nodes/n1', { spec: { taints: [{ key: 'a', effect: 'NoSchedule' }] } }, MERGE),
    ]);
    expect(replies.map(({ status }) => status)).toEqual([200, 403, 403, 403]);
    expect(replies[1]?.body.message).toContain('is not allowed to modify labels');
    expect(replies[3]?.body.message).toContain('node "n1" is not allowed to modify taints');
  });

  test.each<[string, Json]>([
    ['ownerReferences', { metadata: { ownerReferences: [OWNER] } }],
    ['finalizers', { metadata: { finalizers: ['example.com/stay'] } }],
    ['podCIDRs', { spec: { podCIDR: '10.1.0.0/24', podCIDRs: ['10.1.0.0/24'] } }],
    ['taints', { spec: { taints: [{ key: 'own', effect: 'NoSchedule' }] } }],
  ])('changes no %s of its own, in whatever form', async (field, change) => {
    const path = '/api/v1/nodes/n2';
    const { body: whole } = await other.post('/api/v1/nodes', { metadata: { name: 'n2' } });
    const { body: live } = whole.kind === 'Node' ? { body: whole } : await plane.get(path);
    const full = {
      ...live,
      metadata: { ...live.metadata, ...partOf(change, 'metadata') },
      spec: partOf(change, 'spec'),
    };
    const operations = Object.entries(change).flatMap(([part, members]) => [
      { op: 'add', path: `/${part}`, value: part === 'metadata' ? full.metadata : members },
    ]);
    const named = { apiVersion: 'v1', kind: 'Node', ...change };
    const applied = { ...named, metadata: { ...partOf(change, 'metadata'), name: 'n2' } };
    const apply = `?fieldManager=node&force=true`;
    const replies = await Promise.all([
      other.put(path, full),
      other.patch(path, change, MERGE),
      other.patch(path, change, STRATEGIC),
      other.patch(path, operations, JSON_PATCH),
      other.patch(`${path}${apply}`, applied, APPLY),
      other.put(`${path}/status`, full),
      other.patch(`${path}/status`, change, MERGE),
      other.patch(`${path}/status${apply}`, applied, APPLY),
    ]);
    // A change of the status never changes the spec; of it only taints are looked at there. Metadata
    // changes through it, in whatever form.
    const throughStatus = field === 'podCIDRs' ? 200 : 403;
    const throughApply = 'metadata' in change ? 403 : 200;
    expect(replies.map(({ status }) => status)).toEqual([
      ...Array.from({ length: 5 }, () => 403),
      throughStatus,
      throughStatus,
      throughApply,
    ]);
    expect(replies[0]?.body.message).toContain(`is not allowed to modify`);
    expect(replies[0]?.body.message).toContain(field);
    const { body: after } = await plane.get(path);
    expect(after.metadata).not.toHaveProperty('ownerReferences');
    expect(after.metadata).not.toHaveProperty('finalizers');
    expect(partOf({ ...after }, 'spec')).not.toHaveProperty('podCIDRs');
  });

  test('registers with neither owners nor finalizers', async () => {
    const make = async (metadata: Json): Promise<number> =>
      (await third.post('/api/v1/nodes?dryRun=All', { metadata: { name: 'n3', ...metadata } })).status;
    expect([
      await make({ ownerReferences: [OWNER] }),
      await make({ finalizers: ['example.com/stay'] }),
      await make({ annotations: { a: 'b' } }),
    ]).toEqual([403, 403, 201]);
  });

  test('may not register as another, nor delete itself', async () => {
    const made = await other.post('/api/v1/nodes', { metadata: { name: 'n3' } });
    expect([made.status, (await node.delete('/api/v1/nodes/n1')).status]).toEqual([403, 403]);
  });

  test.each<[string, (m: typeof mirror) => object, number]>([
    ['what it runs from a file', (m) => m('a'), 201],
    ['no other pod', (m) => m('b', { metadata: { name: 'b' } }), 403],
    [
      'none that is bound to another',
      (m) => m('c', { spec: { nodeName: 'n2', containers: [{ name: 'c', image: 'i' }] } }),
      403,
    ],
    [
      'none with secrets',
      (m) =>
        m('d', {
          spec: {
            nodeName: 'n1',
            containers: [{ name: 'c', image: 'i' }],
            imagePullSecrets: [{ name: 'x' }],
          },
        }),
      403,
    ],
    [
      'none with another owner',
      (m) => m('e', { metadata: { name: 'e', annotations: { [words.configMirror]: 'h' } } }),
      403,
    ],
  ])('makes pods: %s', async (_, body, status) => {
    expect((await node.post(`${at}/pods`, body(mirror))).status).toBe(status);
  });

  test('updates the status of its own pods, and deletes them', async () => {
    const status = { status: { phase: 'Running' } };
    const run = async (client: Client): Promise<readonly number[]> => [
      (await client.patch(`${at}/pods/mine/status`, status)).status,
      (await client.patch(`${at}/pods/mine/status`, { metadata: { labels: { a: 'b' } } })).status,
      (await client.post(`${at}/pods/mine/eviction?dryRun=All`, evictionOf('mine'))).status,
      (await client.delete(`${at}/pods/mine?dryRun=All`)).status,
    ];
    const evictionOf = (name: string) => ({ apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name } });
    expect(await run(node)).toEqual([200, 403, 201, 200]);
    expect(await run(other)).toEqual([403, 403, 403, 403]);
  });

  test('requests tokens bound to its own pods', async () => {
    const mine = (await plane.get(`${at}/pods/mine`)).body.metadata.uid;
    const requestToken = async (account: string, boundObjectRef?: object): Promise<number> => {
      const body = { spec: boundObjectRef === undefined ? {} : { boundObjectRef } };
      return (await node.post(`${at}/serviceaccounts/${account}/token`, body)).status;
    };
    const bound = { apiVersion: 'v1', kind: 'Pod', name: 'mine', uid: mine };
    expect([
      await requestToken('mine', bound),
      await requestToken('mine'),
      await requestToken('mine', { ...bound, uid: 'other' }),
      await requestToken('theirs', { ...bound, name: 'theirs' }),
    ]).toEqual([201, 403, 403, 403]);
  });

  test('has one lease and one CSINode, of its name', async () => {
    const leases = plane.path('coordination/v1', `namespaces/${words.nodeLeaseNamespace}/leases`);
    const nodes = plane.path('storage/v1', 'csinodes');
    const make = async (path: string, name: string, spec: object): Promise<number> =>
      (await node.post(path, { metadata: { name }, spec })).status;
    expect([
      await make(leases, 'n1', {}),
      await make(leases, 'n2', {}),
      await make(nodes, 'n1', { drivers: [] }),
      await make(nodes, 'n2', { drivers: [] }),
      (await node.get(`${leases}/n2`)).status,
      (await node.get(`${leases}/n1`)).status,
    ]).toEqual([201, 403, 201, 403, 403, 200]);
  });
});
