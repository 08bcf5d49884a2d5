/** Metadata that every object carries. Document 1 §2.1. */
import { describe, expect, test } from 'vitest';
import { configMap, usePlane, workload } from './support.ts';

describe('metadata', () => {
  const plane = usePlane();

  test('every object carries kind, apiVersion and metadata, also those in lists', async () => {
    const ns = await plane.namespace();
    const created = await plane.post(`${ns}/configmaps`, { metadata: { name: 'a' } });
    expect(created.body).toMatchObject({ kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: 'a' } });
    const apps = ns.replace('/api/v1', '/apis/apps/v1');
    await plane.post(`${apps}/deployments`, workload('Deployment', 'web'));
    const shown = await plane.get(`${apps}/deployments/web`);
    expect(shown.body).toMatchObject({ kind: 'Deployment', apiVersion: 'apps/v1' });
    const list = await plane.get(`${ns}/configmaps`);
    expect(list.body).toMatchObject({ apiVersion: 'v1', items: [{ metadata: { name: 'a' } }] });
  });

  test('a name is unique per kind within a namespace, and free again after deletion', async () => {
    const [a, b] = [await plane.namespace(), await plane.namespace()];
    const first = await plane.post(`${a}/configmaps`, configMap('same'));
    expect((await plane.post(`${a}/secrets`, { metadata: { name: 'same' } })).status).toBe(201);
    expect((await plane.post(`${b}/configmaps`, configMap('same'))).status).toBe(201);
    const again = await plane.post(`${a}/configmaps`, configMap('same'));
    expect(again).toMatchObject({
      status: 409,
      body: {
        reason: 'AlreadyExists',
        message: 'configmaps "same" already exists',
        details: { name: 'same', kind: 'configmaps' },
      },
    });
    await plane.delete(`${a}/configmaps/same`);
    const second = await plane.post(`${a}/configmaps`, configMap('same'));
    expect(second.status).toBe(201);
    expect(second.body.metadata.uid).not.toBe(first.body.metadata.uid);
  });

  test('the name of a kind without namespaces is unique in the cluster', async () => {
    const node = { metadata: { name: 'only' } };
    expect((await plane.post('/api/v1/nodes', node)).status).toBe(201);
    expect((await plane.post('/api/v1/nodes', node)).status).toBe(409);
  });

  test('generateName makes a unique random name', async () => {
    const path = `${await plane.namespace()}/configmaps`;
    const made = await Promise.all(
      Array.from({ length: 20 }, () => plane.post(path, { metadata: { generateName: 'job-' } })),
    );
    const names = made.map(({ body }) => body.metadata.name ?? '');
    expect(new Set(names).size).toBe(20);
    for (const name of names) expect(name).toMatch(/^job-[a-z0-9]{5}$/);
    expect(made[0]?.body.metadata.generateName).toBe('job-');
  });

  test('an object without a name and without generateName is refused', async () => {
    const response = await plane.post(`${await plane.namespace()}/configmaps`, { metadata: {} });
    expect(response).toMatchObject({ status: 422, body: { reason: 'Invalid' } });
    expect(response.body.message).toContain('metadata.name: Required value');
  });

  test('the namespace comes from the path and must not contradict it', async () => {
    const ns = await plane.namespace();
    const created = await plane.post(`${ns}/configmaps`, configMap('a'));
    expect(created.body.metadata.namespace).toBe(ns.split('/').at(-1));
    const elsewhere = await plane.post(`${ns}/configmaps`, configMap('b', '1', { namespace: 'default' }));
    expect(elsewhere).toMatchObject({ status: 400, body: { reason: 'BadRequest' } });
  });

  test('the server alone sets uid, resourceVersion, creationTimestamp and generation', async () => {
    const path = `${await plane.namespace()}/configmaps`;
    const claimed = {
      uid: 'mine',
      creationTimestamp: '2001-01-01T00:00:00Z',
      deletionTimestamp: '2001-01-01T00:00:00Z',
      generation: 77,
      selfLink: '/x',
    };
    const { body } = await plane.post(path, configMap('a', '1', claimed));
    expect(body.metadata.uid).toMatch(
      /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    );
    expect(Math.abs(Date.parse(String(body.metadata.creationTimestamp)) - Date.now())).toBeLessThan(60_000);
    expect(body.metadata.creationTimestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    expect(body.metadata.resourceVersion).toMatch(/^[1-9]\d*$/);
    for (const member of ['deletionTimestamp', 'generation', 'selfLink']) {
      expect(body.metadata).not.toHaveProperty(member);
    }
    const versioned = await plane.post(path, configMap('b', '1', { resourceVersion: '5' }));
    expect(versioned.status).toBe(400);
  });

  test('generation counts changes of spec, resourceVersion every change', async () => {
    const path = `${(await plane.namespace()).replace('/api/v1', '/apis/apps/v1')}/deployments`;
    const made = await plane.post(path, workload('Deployment', 'web', { replicas: 1 }));
    expect(made.body.metadata.generation).toBe(1);
    const labelled = await plane.patch(`${path}/web`, { metadata: { labels: { a: 'b' } } });
    expect(labelled.body.metadata.generation).toBe(1);
    expect(labelled.body.metadata.resourceVersion).not.toBe(made.body.metadata.resourceVersion);
    const scaled = await plane.patch(`${path}/web`, { spec: { replicas: 2 } });
    expect(scaled.body.metadata.generation).toBe(2);
    const same = await plane.patch(`${path}/web`, { spec: { replicas: 2 } });
    expect(same.body.metadata.resourceVersion).toBe(scaled.body.metadata.resourceVersion);
  });

  test.each([
    ['uid', 'another', 409],
    ['creationTimestamp', '2001-01-01T00:00:00Z', 422],
    ['name', 'b', 400],
    ['namespace', 'default', 400],
  ])('an update can not change metadata.%s', async (member, value, status) => {
    const path = `${await plane.namespace()}/configmaps`;
    await plane.post(path, configMap('a'));
    const response = await plane.patch(`${path}/a`, { metadata: { [member]: value } });
    expect(response.status).toBe(status);
    expect((await plane.get(`${path}/a`)).body.metadata.name).toBe('a');
  });

  test('an update with an old resourceVersion is refused, one without any goes through', async () => {
    const path = `${await plane.namespace()}/configmaps`;
    const { body: old } = await plane.post(path, configMap('a'));
    const { body: newer } = await plane.put(`${path}/a`, configMap('a', '2'));
    const stale = await plane.put(`${path}/a`, { ...old, data: { value: '3' } });
    expect(stale).toMatchObject({
      status: 409,
      body: { reason: 'Conflict', details: { name: 'a', kind: 'configmaps' } },
    });
    expect(stale.body.message).toContain('the object has been modified');
    expect((await plane.put(`${path}/a`, { ...newer, data: { value: '4' } })).status).toBe(200);
    expect((await plane.put(`${path}/a`, configMap('a', '5'))).status).toBe(200);
    const patched = await plane.patch(`${path}/a`, {
      metadata: { resourceVersion: old.metadata.resourceVersion },
    });
    expect(patched.status).toBe(409);
  });

  test('finalizers are a shared list in any order', async () => {
    const path = `${await plane.namespace()}/configmaps`;
    await plane.post(path, configMap('a', '1', { finalizers: ['example.com/a', 'example.com/b'] }));
    const turned = await plane.patch(`${path}/a`, {
      metadata: { finalizers: ['example.com/b', 'example.com/a'] },
    });
    expect(turned.body.metadata.finalizers).toEqual(['example.com/b', 'example.com/a']);
    const bad = await plane.patch(`${path}/a`, { metadata: { finalizers: ['not qualified!'] } });
    expect(bad.status).toBe(422);
    await plane.patch(`${path}/a`, { metadata: { finalizers: [] } });
  });

  test('labels and annotations are stored as given and validated', async () => {
    const path = `${await plane.namespace()}/configmaps`;
    const good = { labels: { 'example.com/tier': 'web' }, annotations: { 'example.com/note': 'ünïcode\n' } };
    expect((await plane.post(path, configMap('a', '1', good))).body.metadata).toMatchObject(good);
    const bad = await plane.post(
      path,
      configMap('b', '1', { labels: { 'a b': 'x', ok: 'not ok!' }, annotations: { '-x': '' } }),
    );
    expect(bad.status).toBe(422);
    expect(bad.body.details.causes?.map(({ field }) => field).sort()).toEqual([
      'metadata.annotations',
      'metadata.labels',
      'metadata.labels[ok]',
    ]);
  });

  test('owner references are checked', async () => {
    const path = `${await plane.namespace()}/configmaps`;
    const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'o', uid: 'u' };
    const good = await plane.post(path, configMap('a', '1', { ownerReferences: [owner] }));
    expect(good.body.metadata.ownerReferences).toEqual([owner]);
    const two = [
      { ...owner, controller: true },
      { ...owner, uid: 'v', controller: true },
    ];
    expect((await plane.post(path, configMap('b', '1', { ownerReferences: two }))).status).toBe(422);
    const { uid: _, ...nameless } = owner;
    expect((await plane.post(path, configMap('c', '1', { ownerReferences: [nameless] }))).status).toBe(422);
  });

  test.each(['Upper', 'a_b', '-a', 'a'.repeat(254), 'a/b'])('%j is no name', async (name) => {
    const response = await plane.post(`${await plane.namespace()}/configmaps`, configMap(name));
    expect(response.status).toBe(422);
    expect(response.body.details.causes?.[0]?.field).toBe('metadata.name');
  });
});
