/** Paths and verbs. Document 1 §4.1 and 4.2. */
import { describe, expect, test } from 'vitest';
import { configMap, MERGE, pod, usePlane, VOCABULARY_NAMES } from './support.ts';

describe.each(VOCABULARY_NAMES)('paths in the %s vocabulary', (vocabulary) => {
  const plane = usePlane(vocabulary);
  const other = vocabulary === 'plat' ? 'k8s' : 'plat';

  test('the core group is below /api/v1, named groups are below /apis', async () => {
    const { words } = plane;
    const group = `storage.${words.apiGroupDomain}`;
    const core = await plane.get('/api/v1/namespaces/default');
    expect(core.body).toMatchObject({ apiVersion: 'v1', kind: 'Namespace' });
    const named = await plane.post(`/apis/${group}/v1/storageclasses`, {
      metadata: { name: 'fast' },
      provisioner: 'example.com/disk',
    });
    expect(named.body).toMatchObject({ apiVersion: `${group}/v1`, kind: 'StorageClass' });
    expect((await plane.get(`/apis/storage.${other}.io/v1/storageclasses`)).status).toBe(404);
  });

  test('a cluster-scoped type has a collection, objects and their subresources', async () => {
    await plane.post('/api/v1/nodes', { metadata: { name: 'n1' } });
    const [all, one, part] = await Promise.all([
      plane.get('/api/v1/nodes'),
      plane.get('/api/v1/nodes/n1'),
      plane.get('/api/v1/nodes/n1/status'),
    ]);
    expect(all.body).toMatchObject({ kind: 'NodeList', items: [{ metadata: { name: 'n1' } }] });
    expect(one.body).toMatchObject({ kind: 'Node', metadata: { name: 'n1' } });
    expect(part.body).toMatchObject({ kind: 'Node', metadata: { name: 'n1' }, status: {} });
    expect((await plane.get('/api/v1/namespaces/default/nodes')).status).toBe(404);
  });

  test('a namespaced type has a collection across namespaces, one in each, objects and subresources', async () => {
    const [a, b] = [await plane.namespace(), await plane.namespace()];
    await plane.post(`${a}/pods`, pod('web'));
    await plane.post(`${b}/pods`, pod('web'));
    const everywhere = await plane.get('/api/v1/pods');
    expect(everywhere.body.items).toHaveLength(2);
    const here = await plane.get(`${a}/pods`);
    expect(here.body).toMatchObject({ kind: 'PodList', items: [{ metadata: { name: 'web' } }] });
    expect((await plane.get(`${a}/pods/web`)).body.kind).toBe('Pod');
    expect((await plane.get(`${a}/pods/web/status`)).body).toMatchObject({ kind: 'Pod', status: {} });
    expect((await plane.get('/api/v1/pods/web')).status).toBe(404);
    expect((await plane.get(`${a}/pods/web/nonsense`)).status).toBe(404);
  });

  test('namespaces have a collection and one path each', async () => {
    const { words } = plane;
    const names = ['default', words.nodeLeaseNamespace, words.publicNamespace, words.systemNamespace];
    const all = await plane.get('/api/v1/namespaces');
    expect(all.body.items.map(({ metadata }) => metadata.name)).toEqual(expect.arrayContaining(names));
    for (const name of names) {
      expect((await plane.get(`/api/v1/namespaces/${name}`)).body.metadata.name).toBe(name);
    }
  });
});

describe('verbs', () => {
  const plane = usePlane();

  test('subresources of several objects have no path', async () => {
    const ns = await plane.namespace();
    expect((await plane.get(`${ns}/pods//status`)).status).toBe(400);
    expect((await plane.get('/api/v1/pods/web/status')).status).toBe(404);
  });

  test('get, list, create, update, patch and delete are GET, POST, PUT, PATCH and DELETE', async () => {
    const path = `${await plane.namespace()}/configmaps`;
    expect((await plane.post(path, configMap('a'))).status).toBe(201);
    expect((await plane.get(`${path}/a`)).body).toMatchObject({ kind: 'ConfigMap', data: { value: '1' } });
    expect((await plane.get(path)).body).toMatchObject({ kind: 'ConfigMapList', items: [{}] });
    const put = await plane.put(`${path}/a`, configMap('a', '2'));
    expect(put).toMatchObject({ status: 200, body: { data: { value: '2' } } });
    const patched = await plane.patch(`${path}/a`, { data: { value: '3' } }, MERGE);
    expect(patched).toMatchObject({ status: 200, body: { data: { value: '3' } } });
    expect((await plane.delete(`${path}/a`)).status).toBe(200);
    expect((await plane.get(`${path}/a`)).status).toBe(404);
  });

  test('GET with watch set is a watch, of a collection and of one object', async () => {
    const path = `${await plane.namespace()}/configmaps`;
    await plane.post(path, configMap('a'));
    for (const watched of [`${path}?watch=1`, `${path}?watch=true`, `${path}?watch`, `${path}/a?watch=1`]) {
      await using stream = await plane.watch(watched);
      expect(await stream.take(1)).toEqual(['ADDED a']);
    }
    await using old = await plane.watch(path.replace('/api/v1/', '/api/v1/watch/'));
    expect(await old.take(1)).toEqual(['ADDED a']);
  });

  test('DELETE of a collection deletes what the selectors choose', async () => {
    const path = `${await plane.namespace()}/configmaps`;
    await plane.post(path, configMap('a', '1', { labels: { tier: 'x' } }));
    await plane.post(path, configMap('b', '1', { labels: { tier: 'y' } }));
    const deleted = await plane.delete(`${path}?labelSelector=tier%3Dx`);
    expect(deleted).toMatchObject({ status: 200, body: { kind: 'Status', status: 'Success' } });
    expect((await plane.get(path)).body.items.map(({ metadata }) => metadata.name)).toEqual(['b']);
    await plane.delete(path);
    expect((await plane.get(path)).body.items).toEqual([]);
  });

  test('PUT of a name that is not there creates it where the kind allows that', async () => {
    const path = `${await plane.namespace()}/configmaps/a`;
    expect((await plane.put(path, configMap('a'))).status).toBe(404);
    const lease = `/apis/coordination.${plane.words.apiGroupDomain}/v1/namespaces/default/leases/node-1`;
    const created = await plane.put(lease, { metadata: { name: 'node-1' }, spec: { holderIdentity: 'x' } });
    expect(created).toMatchObject({ status: 201, body: { kind: 'Lease' } });
    const updated = await plane.put(lease, created.body);
    expect(updated.status).toBe(200);
    const other = await plane.put(lease.replace('node-1', 'node-2'), { metadata: { name: 'node-3' } });
    expect(other).toMatchObject({ status: 400, body: { reason: 'BadRequest' } });
  });

  test.each([
    ['POST', '/api/v1/pods'],
    ['PUT', '/api/v1/namespaces/default/configmaps'],
    ['POST', '/api/v1/namespaces/default/configmaps/a'],
    ['DELETE', '/api/v1/namespaces'],
    ['PATCH', '/api/v1/componentstatuses/x'],
    ['DELETE', '/api/v1/nodes/n1/status'],
  ])('%s %s is not allowed (405)', async (method, path) => {
    const body = method === 'DELETE' ? undefined : {};
    const response = await plane.call(method, path, body, method === 'PATCH' ? { type: MERGE } : {});
    expect(response).toMatchObject({ status: 405, body: { kind: 'Status', reason: 'MethodNotAllowed' } });
  });

  test('an operation on many objects is none on one: no transaction', async () => {
    const path = `${await plane.namespace()}/configmaps`;
    await plane.post(path, configMap('free'));
    await plane.post(path, configMap('held', '1', { finalizers: ['example.com/hold'] }));
    await plane.delete(path);
    const left = await plane.get(path);
    expect(left.body.items.map(({ metadata }) => metadata.name)).toEqual(['held']);
    await plane.patch(`${path}/held`, { metadata: { finalizers: null } });
  });
});
