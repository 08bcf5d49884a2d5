/** All kinds of patches except apply. Document 1 §4.2; directives of strategic merge patch as upstream. */
import { beforeAll, describe, expect, test } from 'vitest';
import { type Body, configMap, JSON_PATCH, type Json, MERGE, pod, STRATEGIC, usePlane } from './support.ts';

describe('patches', () => {
  const plane = usePlane();
  let folder = '';
  let names = 0;
  beforeAll(async () => {
    folder = await plane.namespace();
  });
  const fresh = (): string => `p-${(names += 1)}`;

  async function patched(
    resource: string,
    object: (name: string) => Json,
    type: string,
    patch: unknown,
  ): Promise<{ readonly status: number; readonly body: Body }> {
    const name = fresh();
    const path =
      resource === 'deployments'
        ? `${folder.replace('/api/v1', '/apis/apps/v1')}/${resource}`
        : `${folder}/${resource}`;
    expect((await plane.post(path, object(name))).status).toBe(201);
    return plane.patch(`${path}/${name}`, patch, type);
  }

  const config = (name: string): Json => ({
    ...configMap(name, '1', { labels: { a: '1', b: '2' }, annotations: { 'x.y/z': 'here' } }),
    data: { value: '1', other: '2' },
  });

  test.each<[string, readonly Json[], Json]>([
    [
      'add a member',
      [{ op: 'add', path: '/data/new', value: '3' }],
      { data: { value: '1', other: '2', new: '3' } },
    ],
    ['replace', [{ op: 'replace', path: '/data/value', value: '9' }], { data: { value: '9', other: '2' } }],
    ['remove', [{ op: 'remove', path: '/data/value' }], { data: { other: '2' } }],
    [
      'move',
      [{ op: 'move', from: '/data/value', path: '/data/moved' }],
      { data: { moved: '1', other: '2' } },
    ],
    [
      'copy',
      [{ op: 'copy', from: '/data/value', path: '/data/copy' }],
      { data: { value: '1', other: '2', copy: '1' } },
    ],
    [
      'test and then change',
      [
        { op: 'test', path: '/data/value', value: '1' },
        { op: 'remove', path: '/data/other' },
      ],
      { data: { value: '1' } },
    ],
    [
      'escaped names',
      [{ op: 'replace', path: '/metadata/annotations/x.y~1z', value: 'there' }],
      { data: { value: '1', other: '2' }, note: 'there' },
    ],
    ['nothing', [], { data: { value: '1', other: '2' } }],
  ])('JSON patch: %s', async (_, patch, expected) => {
    const { status, body } = await patched('configmaps', config, JSON_PATCH, patch);
    expect(status).toBe(200);
    const note = body.metadata.annotations?.['x.y/z'];
    expect({ data: body.data, note }).toEqual({ note: 'here', ...expected });
  });

  test.each<[string, unknown, number]>([
    ['a test that fails', [{ op: 'test', path: '/data/value', value: 'x' }], 422],
    ['a member that is not there', [{ op: 'remove', path: '/data/none' }], 422],
    ['a parent that is not there', [{ op: 'add', path: '/none/x', value: 1 }], 422],
    ['an unknown operation', [{ op: 'swap', path: '/data' }], 400],
    ['a path without a slash', [{ op: 'remove', path: 'data' }], 400],
    ['an object', { data: {} }, 400],
    ['no JSON', '[', 400],
    ['a result of another kind', [{ op: 'replace', path: '/kind', value: 'Secret' }], 400],
    ['a result with a wrong type', [{ op: 'replace', path: '/data/value', value: 7 }], 422],
    ['too many operations', Array.from({ length: 10_001 }, () => ({ op: 'test', path: '', value: 1 })), 413],
  ])('JSON patch: %s is refused with its status', async (_, patch, status) => {
    expect((await patched('configmaps', config, JSON_PATCH, patch)).status).toBe(status);
  });

  test.each<[string, Json, Json]>([
    ['members are merged', { data: { new: '3' } }, { data: { value: '1', other: '2', new: '3' } }],
    ['null removes', { data: { value: null } }, { data: { other: '2' } }],
    [
      'null for what is not there does nothing',
      { data: { none: null } },
      { data: { value: '1', other: '2' } },
    ],
    ['a whole map is removed', { data: null, metadata: { labels: null } }, {}],
    ['values are replaced', { data: { value: '9' } }, { data: { value: '9', other: '2' } }],
  ])('merge patch: %s', async (_, patch, expected) => {
    const { status, body } = await patched('configmaps', config, MERGE, patch);
    expect(status).toBe(200);
    expect(body.data).toEqual(expected['data']);
  });

  test('merge patch: a list is replaced as a whole', async () => {
    const held = (name: string): Json => configMap(name, '1', { finalizers: ['e.com/a', 'e.com/b'] });
    const { body } = await patched('configmaps', held, MERGE, { metadata: { finalizers: ['e.com/c'] } });
    expect(body.metadata.finalizers).toEqual(['e.com/c']);
    await plane.patch(`${folder}/configmaps/${body.metadata.name}`, { metadata: { finalizers: null } });
  });

  const container = (name: string, more: Json = {}): Json => ({ name, image: 'busybox', ...more });
  const deployment = (name: string): Json => ({
    metadata: { name, labels: { app: name } },
    spec: {
      selector: { matchLabels: { app: name } },
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 1 } },
      template: {
        metadata: { labels: { app: name } },
        spec: {
          containers: [
            container('one', {
              env: [
                { name: 'A', value: '1' },
                { name: 'B', value: '2' },
              ],
              args: ['x', 'y'],
            }),
            container('two', { ports: [{ containerPort: 80 }, { containerPort: 81 }] }),
          ],
          tolerations: [{ key: 'k', operator: 'Exists' }],
          volumes: [{ name: 'v', emptyDir: {} }],
        },
      },
    },
  });
  type Containers = readonly (Json & { name: string; env: Json[]; ports: Json[]; args: string[] })[];
  const template = ({ spec }: Body): { containers: Containers; volumes: Json[]; tolerations: Json[] } =>
    (spec['template'] as { spec: { containers: Containers; volumes: Json[]; tolerations: Json[] } }).spec;
  const inTemplate = (spec: Json): Json => ({ spec: { template: { spec } } });

  test.each<[string, Json, (body: Body) => unknown, unknown]>([
    [
      'items of a list with a merge key are merged by it',
      inTemplate({ containers: [{ name: 'two', image: 'alpine' }] }),
      (body) => template(body).containers.map(({ name, image }) => [name, image]),
      [
        ['one', 'busybox'],
        ['two', 'alpine'],
      ],
    ],
    [
      'new items are added',
      inTemplate({ containers: [{ name: 'three', image: 'alpine' }] }),
      (body) =>
        template(body)
          .containers.map(({ name }) => name)
          .sort(),
      ['one', 'three', 'two'],
    ],
    [
      '$patch: delete removes an item',
      inTemplate({ containers: [{ name: 'one', $patch: 'delete' }] }),
      (body) => template(body).containers.map(({ name }) => name),
      ['two'],
    ],
    [
      '$patch: replace replaces a list',
      inTemplate({ containers: [{ name: 'new', image: 'alpine' }, { $patch: 'replace' }] }),
      (body) => template(body).containers.map(({ name }) => name),
      ['new'],
    ],
    [
      '$patch: replace replaces a map',
      { metadata: { labels: { $patch: 'replace', only: 'this' } } },
      ({ metadata }) => metadata.labels,
      { only: 'this' },
    ],
    [
      '$patch: delete removes a map',
      { metadata: { labels: { $patch: 'delete' } } },
      ({ metadata }) => metadata.labels ?? {},
      {},
    ],
    [
      '$patch: delete within nested lists',
      inTemplate({ containers: [{ name: 'one', env: [{ name: 'A', $patch: 'delete' }] }] }),
      (body) => template(body).containers[0]?.env,
      [{ name: 'B', value: '2' }],
    ],
    [
      '$setElementOrder orders',
      inTemplate({
        '$setElementOrder/containers': [{ name: 'two' }, { name: 'new' }, { name: 'one' }],
        containers: [{ name: 'new', image: 'alpine' }],
      }),
      (body) => template(body).containers.map(({ name }) => name),
      ['two', 'new', 'one'],
    ],
    [
      'a list without a merge key is replaced',
      inTemplate({ containers: [{ name: 'one', args: ['z'] }], tolerations: [] }),
      (body) => [template(body).containers[0]?.args, template(body).tolerations ?? []],
      [['z'], []],
    ],
    [
      '$retainKeys drops the other members',
      { spec: { strategy: { $retainKeys: ['type'], type: 'Recreate' } } },
      ({ spec }) => spec['strategy'],
      { type: 'Recreate' },
    ],
    [
      '$retainKeys in items of a list',
      inTemplate({ volumes: [{ name: 'v', $retainKeys: ['name', 'hostPath'], hostPath: { path: '/x' } }] }),
      (body) => template(body).volumes,
      [{ name: 'v', hostPath: { path: '/x', type: '' } }],
    ],
    ['null removes', { metadata: { labels: { app: null } } }, ({ metadata }) => metadata.labels ?? {}, {}],
  ])('strategic merge patch: %s', async (_, patch, look, expected) => {
    const { status, body } = await patched('deployments', deployment, STRATEGIC, patch);
    expect({ status, message: body.message }).toEqual({ status: 200 });
    expect(look(body)).toEqual(expected);
  });

  const finalized = (name: string): Json =>
    configMap(name, '1', { finalizers: ['e.com/a', 'e.com/b', 'e.com/c'] });

  test('strategic merge patch: lists of plain values are merged, $deleteFromPrimitiveList removes', async () => {
    const added = await patched('configmaps', finalized, STRATEGIC, {
      metadata: { finalizers: ['e.com/d', 'e.com/a'] },
    });
    expect(added.body.metadata.finalizers?.toSorted()).toEqual(['e.com/a', 'e.com/b', 'e.com/c', 'e.com/d']);
    const removed = await patched('configmaps', finalized, STRATEGIC, {
      metadata: { '$deleteFromPrimitiveList/finalizers': ['e.com/b'] },
    });
    expect(removed.body.metadata.finalizers).toEqual(['e.com/a', 'e.com/c']);
    const ordered = await patched('configmaps', finalized, STRATEGIC, {
      metadata: {
        '$setElementOrder/finalizers': ['e.com/c', 'e.com/a'],
        '$deleteFromPrimitiveList/finalizers': ['e.com/b'],
      },
    });
    expect(ordered.body.metadata.finalizers).toEqual(['e.com/c', 'e.com/a']);
    for (const { body } of [added, removed, ordered]) {
      await plane.patch(`${folder}/configmaps/${body.metadata.name}`, { metadata: { finalizers: null } });
    }
  });

  test.each<[string, Json, number]>([
    ['an unknown directive', { metadata: { labels: { $patch: 'swap' } } }, 400],
    ['an item without its merge key', inTemplate({ containers: [{ image: 'alpine' }] }), 422],
    ['a list where an object is', { spec: [] }, 422],
    ['a wrong type', { spec: { replicas: 'many' } }, 422],
    ['an invalid result', { spec: { replicas: -1 } }, 422],
  ])('strategic merge patch: %s is refused', async (_, patch, status) => {
    expect((await patched('deployments', deployment, STRATEGIC, patch)).status).toBe(status);
  });

  test.each([JSON_PATCH, MERGE, STRATEGIC])('%s of what is not there is 404', async (type) => {
    const patch = type === JSON_PATCH ? [] : {};
    expect(await plane.patch(`${folder}/configmaps/none`, patch, type)).toMatchObject({
      status: 404,
      body: { reason: 'NotFound', details: { name: 'none', kind: 'configmaps' } },
    });
  });

  test('a patch that names a version holds only for that version (409)', async () => {
    const path = `${folder}/configmaps/${fresh()}`;
    const { body } = await plane.post(`${folder}/configmaps`, configMap(path.split('/').at(-1) ?? ''));
    const { resourceVersion } = body.metadata;
    const first = await plane.patch(path, { metadata: { resourceVersion }, data: { value: '2' } });
    expect(first.status).toBe(200);
    const late = await plane.patch(path, { metadata: { resourceVersion }, data: { value: '3' } });
    expect(late).toMatchObject({ status: 409, body: { reason: 'Conflict' } });
    const guard = [{ op: 'test', path: '/metadata/resourceVersion', value: resourceVersion }];
    expect((await plane.patch(path, guard, JSON_PATCH)).status).toBe(422);
    expect((await plane.get(path)).body.data).toEqual({ value: '2' });
  });

  test('a patch that names another uid is 409', async () => {
    const made = await plane.post(`${folder}/configmaps`, configMap(fresh()));
    const path = `${folder}/configmaps/${made.body.metadata.name}`;
    expect((await plane.patch(path, { metadata: { uid: 'other' } })).status).toBe(409);
  });

  test('patches without a version never fail for others that write at the same time', async () => {
    const name = fresh();
    await plane.post(`${folder}/configmaps`, configMap(name));
    const responses = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        plane.patch(`${folder}/configmaps/${name}`, { data: { [`k${n}`]: 'x' } }),
      ),
    );
    expect(responses.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200));
    expect(Object.keys((await plane.get(`${folder}/configmaps/${name}`)).body.data)).toHaveLength(21);
  });

  test('a patch that changes nothing makes no new version', async () => {
    const made = await plane.post(`${folder}/configmaps`, configMap(fresh()));
    const path = `${folder}/configmaps/${made.body.metadata.name}`;
    for (const [type, patch] of [
      [MERGE, { data: { value: '1' } }],
      [STRATEGIC, { data: { value: '1' } }],
      [JSON_PATCH, [{ op: 'replace', path: '/data/value', value: '1' }]],
    ] as const) {
      const { body } = await plane.patch(path, patch, type);
      expect(body.metadata.resourceVersion).toBe(made.body.metadata.resourceVersion);
    }
  });

  test('patches may not change a name, a namespace, a kind or the version of the API', async () => {
    const made = await plane.post(`${folder}/configmaps`, configMap(fresh()));
    const path = `${folder}/configmaps/${made.body.metadata.name}`;
    const rows: readonly Json[] = [
      { metadata: { name: 'other' } },
      { metadata: { namespace: 'default' } },
      { kind: 'Secret' },
      { apiVersion: 'v2' },
    ];
    for (const row of rows) expect((await plane.patch(path, row)).status).toBe(400);
  });

  test('a copy that grows too much is refused', async () => {
    const large = (name: string): Json => configMap(name, 'x'.repeat(500_000));
    const copies = Array.from({ length: 8 }, (_, n) => ({
      op: 'copy',
      from: '/data/value',
      path: `/data/c${n}`,
    }));
    expect((await patched('configmaps', large, JSON_PATCH, copies)).status).toBe(422);
  });

  test('pods are patched by strategic merge as they are by any', async () => {
    const { body } = await patched('pods', (name) => pod(name), STRATEGIC, {
      spec: { containers: [{ name: 'main', image: 'alpine' }] },
    });
    expect(body.spec['containers']).toMatchObject([{ name: 'main', image: 'alpine' }]);
  });
});
