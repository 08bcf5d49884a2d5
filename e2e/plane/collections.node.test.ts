/** Collections and selection from them. Document 1 §2.2 and 4.3. */
import { beforeAll, describe, expect, test } from 'vitest';
import { type Body, configMap, pod, usePlane } from './support.ts';

const namesOf = ({ items }: Body): readonly (string | undefined)[] =>
  items.map(({ metadata }) => metadata.name);

describe('collections', () => {
  const plane = usePlane();

  test('the kind of a collection ends in List, its apiVersion is that of its items', async () => {
    const { words } = plane;
    const rows: readonly (readonly [string, string, string])[] = [
      ['/api/v1/pods', 'PodList', 'v1'],
      ['/api/v1/namespaces/none/services', 'ServiceList', 'v1'],
      ['/api/v1/nodes', 'NodeList', 'v1'],
      ['/apis/apps/v1/deployments', 'DeploymentList', 'apps/v1'],
      ['/api/v1/endpoints', 'EndpointsList', 'v1'],
      [plane.path('storage/v1', 'storageclasses'), 'StorageClassList', `storage.${words.apiGroupDomain}/v1`],
    ];
    for (const [path, kind, apiVersion] of rows) {
      expect((await plane.get(path)).body).toMatchObject({ kind, apiVersion, items: [] });
    }
  });

  test('no collection is of kind List', async () => {
    const { body } = await plane.get('/api/v1');
    const paths = (body as unknown as { resources: { name: string; verbs: string[]; namespaced: boolean }[] })
      .resources;
    const listable = paths.filter(({ name, verbs }) => verbs.includes('list') && !name.includes('/'));
    expect(listable.length).toBeGreaterThan(10);
    for (const { name } of listable) {
      const { kind } = (await plane.get(`/api/v1/${name}`)).body;
      expect(kind).toMatch(/^[A-Z].+List$/);
    }
  });

  test('metadata.resourceVersion is the version at which the collection was built', async () => {
    const path = `${await plane.namespace()}/configmaps`;
    const before = await plane.get(path);
    const made = await plane.post(path, configMap('a'));
    const after = await plane.get(path);
    const version = ({ metadata }: Body): number => Number(metadata.resourceVersion);
    expect(version(after.body)).toBeGreaterThanOrEqual(version(made.body));
    expect(version(before.body)).toBeLessThan(version(after.body));
  });

  test('items are in the order of namespace and name', async () => {
    const path = `${await plane.namespace()}/configmaps`;
    for (const name of ['c', 'a', 'b', 'a-b', 'a.b']) await plane.post(path, configMap(name));
    expect(namesOf((await plane.get(path)).body)).toEqual(['a', 'a-b', 'a.b', 'b', 'c']);
  });
});

describe('selection', () => {
  const plane = usePlane();
  let path = '';
  beforeAll(async () => {
    path = `${await plane.namespace()}/pods`;
    await plane.post('/api/v1/nodes', { metadata: { name: 'n1' } });
    await plane.post(path, pod('web', { nodeName: 'n1' }, { labels: { app: 'web', tier: 'front' } }));
    await plane.post(path, pod('api', { restartPolicy: 'Never' }, { labels: { app: 'api' } }));
    await plane.post(path, pod('bare', {}, {}));
  });

  test.each([
    ['app=web', ['web']],
    ['app==web', ['web']],
    ['app!=web', ['api', 'bare']],
    ['app in (web,api)', ['api', 'web']],
    ['app notin (web)', ['api', 'bare']],
    ['app', ['api', 'web']],
    ['!app', ['bare']],
    ['app,tier=front', ['web']],
    ['', ['api', 'bare', 'web']],
  ])('labelSelector %j chooses', async (selector, expected) => {
    const { body } = await plane.get(`${path}?labelSelector=${encodeURIComponent(selector)}`);
    expect(namesOf(body)).toEqual(expected);
  });

  test.each([
    ['metadata.name=web', ['web']],
    ['metadata.name!=web', ['api', 'bare']],
    ['spec.nodeName=n1', ['web']],
    ['spec.nodeName=', ['api', 'bare']],
    ['status.phase=Pending,spec.restartPolicy=Never', ['api']],
  ])('fieldSelector %j chooses', async (selector, expected) => {
    const { body } = await plane.get(`${path}?fieldSelector=${encodeURIComponent(selector)}`);
    expect(namesOf(body)).toEqual(expected);
  });

  test.each([
    'labelSelector=a%3D%3D%3Db',
    'labelSelector=a+in+b',
    'fieldSelector=nonsense',
    'fieldSelector=spec.image%3Dx',
  ])('refuses %s with 400', async (query) => {
    expect(await plane.get(`${path}?${query}`)).toMatchObject({
      status: 400,
      body: { reason: 'BadRequest' },
    });
  });

  test.each([
    ['v1 events', '/api/v1/events', 'involvedObject.kind', 'reason'],
    ['events of the group', '', 'regarding.kind', 'reason'],
  ])('%s are selected by the fields of their own version', async (_, given, field, other) => {
    const events = given === '' ? plane.path('events/v1', 'events') : given;
    const { status, body } = await plane.get(`${events}?fieldSelector=${field}%3DPod,${other}%3DX`);
    expect({ status, items: body.items }).toEqual({ status: 200, items: [] });
  });

  test('events are selected through either version alike', async () => {
    const ns = await plane.namespace();
    const name = ns.split('/').at(-1) ?? '';
    const involvedObject = { kind: 'Pod', namespace: name, name: 'web', apiVersion: 'v1' };
    await plane.post(`${ns}/events`, {
      metadata: { name: 'e1' },
      involvedObject,
      reason: 'Started',
      type: 'Normal',
    });
    await plane.post(`${ns}/events`, {
      metadata: { name: 'e2' },
      involvedObject: { ...involvedObject, kind: 'Node', name: 'n1' },
      reason: 'Other',
      type: 'Warning',
    });
    const old = await plane.get(`${ns}/events?fieldSelector=involvedObject.kind%3DPod`);
    expect(namesOf(old.body)).toEqual(['e1']);
    const events = plane.path('events/v1', `namespaces/${name}/events`);
    const now = await plane.get(`${events}?fieldSelector=regarding.kind%3DPod,type%3DNormal`);
    expect(namesOf(now.body)).toEqual(['e1']);
    expect(namesOf((await plane.get(`${events}?fieldSelector=regarding.name!%3Dweb`)).body)).toEqual(['e2']);
  });

  test('timeoutSeconds and pretty are accepted', async () => {
    const response = await plane.get(`${path}?timeoutSeconds=5&pretty=true&limit=1`);
    expect(response.status).toBe(200);
    expect(response.text).toMatch(/^\{\n {2}"/);
    expect((await plane.get(`${path}?pretty=false&limit=1`)).text).toMatch(/^\{"/);
    expect((await plane.get(`${path}?limit=x`)).status).toBe(400);
  });
});
