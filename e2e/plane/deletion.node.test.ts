/** Deletion: its two phases, grace, propagation, preconditions, collections, namespaces. Document 1 §3 and
 *  4.1. */
import { beforeAll, describe, expect, test } from 'vitest';
import { builtinFacts } from '#plane/resources/facts.ts';
import { samples, settled } from './kinds.ts';
import { type Body, configMap, type Json, type Plane, pod, usePlane, workload } from './support.ts';

/** Resolves when the object is removed. */
async function gone(plane: Plane, path: string): Promise<void> {
  const { status, body } = await plane.get(path);
  if (status === 404) return;
  await using stream = await plane.watch(`${path}?watch=1&resourceVersion=${body.metadata.resourceVersion}`);
  for (;;) {
    const event = await stream.next();
    if (event === undefined || event.type === 'DELETED') return;
  }
}

/** The object is to be gone so many seconds after the request that was sent at this time. */
function expectMarked({ metadata }: Body, sentMs: number, seconds = 0): void {
  const beganMs = Date.parse(String(metadata.deletionTimestamp)) - seconds * 1000;
  // Times on the wire are whole seconds.
  expect(beganMs).toBeGreaterThan(sentMs - 1000);
  expect(beganMs).toBeLessThanOrEqual(Date.now());
}

/** Objects with finalizers of the server remain for a while: the response contains the object. */
const HELD: ReadonlySet<string> = new Set(['Namespace', 'CustomResourceDefinition']);

describe('the response to a deletion', () => {
  const plane = usePlane();
  const facts = new Map(builtinFacts(plane.words).map(({ typeRef, info }) => [typeRef, info]));

  test.each(samples(plane.words))('$id', async ({ path, object, typeRef, kind }) => {
    const one = `${path}/${object.metadata.name}`;
    expect((await plane.post(path, object)).status).toBe(201);
    await settled(plane, one, kind);
    const { status, body } = await plane.delete(one, { propagationPolicy: 'Background' });
    const { deleteReturns, plural, group } = facts.get(typeRef) ?? {};
    const shown = deleteReturns === 'object' || HELD.has(kind);
    expect({ status, kind: body.kind }).toEqual({ status: 200, kind: shown ? kind : 'Status' });
    const details = { name: object.metadata.name, kind: plural, ...(group === '' ? {} : { group }) };
    expect(shown ? details : body.details).toMatchObject(details);
    await gone(plane, one);
  });
});

describe('the two phases of deletion', () => {
  const plane = usePlane();
  let path = '';
  let names = 0;
  beforeAll(async () => {
    path = `${await plane.namespace()}/configmaps`;
  });
  async function made(metadata: Json = {}): Promise<string> {
    const name = `d-${(names += 1)}`;
    expect((await plane.post(path, configMap(name, '1', metadata))).status).toBe(201);
    return `${path}/${name}`;
  }

  test('what nothing holds is removed at once', async () => {
    const one = await made();
    expect(await plane.delete(one)).toMatchObject({
      status: 200,
      body: { kind: 'Status', status: 'Success' },
    });
    expect((await plane.get(one)).status).toBe(404);
    expect(await plane.delete(one)).toMatchObject({ status: 404, body: { reason: 'NotFound' } });
  });

  test('finalizers hold an object, which is marked; the last one that goes removes it', async () => {
    const one = await made({ finalizers: ['e.com/a', 'e.com/b'] });
    await using stream = await plane.watch(`${one}?watch=1`);
    await stream.take(1);
    const before = Date.now();
    const { status, body } = await plane.delete(one);
    expect(status).toBe(200);
    expect(body).toMatchObject({ kind: 'ConfigMap', metadata: { deletionGracePeriodSeconds: 0 } });
    expectMarked(body, before);
    const again = await plane.delete(one);
    expect(again.body.metadata.deletionTimestamp).toBe(body.metadata.deletionTimestamp);
    expect(again.body.metadata.resourceVersion).toBe(body.metadata.resourceVersion);
    expect((await plane.post(path, configMap(one.split('/').at(-1) ?? ''))).status).toBe(409);
    const fewer = await plane.patch(one, { metadata: { finalizers: ['e.com/b'] } });
    expect(fewer.body.metadata.finalizers).toEqual(['e.com/b']);
    const last = await plane.patch(one, { metadata: { finalizers: null } });
    expect(last.status).toBe(200);
    expect((await plane.get(one)).status).toBe(404);
    const events = [await stream.next(), await stream.next(), await stream.next()];
    expect(events.map((event) => event?.type)).toEqual(['MODIFIED', 'MODIFIED', 'DELETED']);
  });

  test('finalizers may be put in another order by anyone; none is added once deletion began', async () => {
    const one = await made({ finalizers: ['e.com/a', 'e.com/b'] });
    const turned = await plane.patch(one, { metadata: { finalizers: ['e.com/b', 'e.com/a'] } });
    expect(turned.body.metadata.finalizers).toEqual(['e.com/b', 'e.com/a']);
    await plane.delete(one);
    const more = await plane.patch(one, { metadata: { finalizers: ['e.com/b', 'e.com/a', 'e.com/c'] } });
    expect(more).toMatchObject({ status: 422, body: { reason: 'Invalid' } });
    expect(more.body.details.causes?.[0]).toMatchObject({ field: 'metadata.finalizers' });
    expect((await plane.patch(one, { metadata: { finalizers: ['e.com/a'] } })).status).toBe(200);
    expect((await plane.patch(one, { data: { still: 'changed' } })).status).toBe(200);
    await plane.patch(one, { metadata: { finalizers: null } });
  });

  test('deletionTimestamp is not for clients to change', async () => {
    const one = await made();
    const marked = await plane.patch(one, { metadata: { deletionTimestamp: '2030-01-01T00:00:00Z' } });
    expect(marked.status).toBe(422);
    expect((await plane.get(one)).body.metadata).not.toHaveProperty('deletionTimestamp');
  });

  test.each<[string, Json]>([
    ['uid', { uid: '00000000-0000-4000-8000-000000000000' }],
    ['resourceVersion', { resourceVersion: '1' }],
  ])('a precondition of %s that does not hold is 409', async (_, preconditions) => {
    const one = await made();
    const response = await plane.delete(one, { preconditions });
    expect(response).toMatchObject({ status: 409, body: { reason: 'Conflict' } });
    expect(response.body.message).toContain('in the precondition');
    const { uid, resourceVersion } = (await plane.get(one)).body.metadata;
    expect((await plane.delete(one, { preconditions: { uid, resourceVersion } })).status).toBe(200);
  });

  test.each<[string, Json | undefined, number]>([
    ['?propagationPolicy=Sometimes', undefined, 422],
    ['', { propagationPolicy: 'Sometimes' }, 422],
    ['', { propagationPolicy: 'Orphan', orphanDependents: true }, 422],
    ['?gracePeriodSeconds=-5', undefined, 400],
    ['?gracePeriodSeconds=soon', undefined, 400],
    ['', { gracePeriodSeconds: 'soon' }, 400],
    ['', { kind: 'Pod' }, 400],
    ['?dryRun=maybe', undefined, 422],
  ])('options %s %j are refused', async (query, body, status) => {
    const one = await made();
    expect((await plane.delete(one + query, body)).status).toBe(status);
    expect((await plane.get(one)).status).toBe(200);
  });

  test('options come as a query or a body, in any form', async () => {
    const yaml = 'apiVersion: v1\nkind: DeleteOptions\npropagationPolicy: Background\n';
    const one = await made();
    expect((await plane.call('DELETE', one, yaml, { type: 'application/yaml' })).status).toBe(200);
    expect((await plane.delete(`${await made()}?propagationPolicy=Orphan`)).status).toBe(200);
    expect((await plane.delete(`${await made()}?orphanDependents=false`)).status).toBe(200);
    const group = { apiVersion: `meta.${plane.words.apiGroupDomain}/v1`, kind: 'DeleteOptions' };
    expect((await plane.delete(await made(), group)).status).toBe(200);
  });
});

describe('grace', () => {
  const plane = usePlane();
  let path = '';
  let names = 0;
  beforeAll(async () => {
    path = `${await plane.namespace()}/pods`;
    await plane.post('/api/v1/nodes', { metadata: { name: 'n1' } });
  });
  async function made(spec: Json = { nodeName: 'n1' }): Promise<string> {
    const name = `g-${(names += 1)}`;
    expect((await plane.post(path, pod(name, spec))).status).toBe(201);
    return `${path}/${name}`;
  }

  test.each<[string, Json, Json | undefined, number]>([
    ['the pod’s own', { nodeName: 'n1', terminationGracePeriodSeconds: 17 }, undefined, 17],
    ['30 s', { nodeName: 'n1' }, undefined, 30],
    ['the requested period', { nodeName: 'n1' }, { gracePeriodSeconds: 5 }, 5],
    ['more than its own', { nodeName: 'n1' }, { gracePeriodSeconds: 100 }, 100],
  ])('a pod on a node gets %s', async (_, spec, options, seconds) => {
    const one = await made(spec);
    const before = Date.now();
    const { body } = await plane.delete(one, options);
    expect(body).toMatchObject({ kind: 'Pod', metadata: { deletionGracePeriodSeconds: seconds } });
    expectMarked(body, before, seconds);
    expect((await plane.get(one)).status).toBe(200);
    await plane.delete(`${one}?gracePeriodSeconds=0`);
    expect((await plane.get(one)).status).toBe(404);
  });

  test('a pod without a node needs none', async () => {
    const one = await made({});
    await plane.delete(one);
    expect((await plane.get(one)).status).toBe(404);
  });

  test('a later request may shorten the time, not lengthen it', async () => {
    const one = await made();
    await plane.delete(one);
    const longer = await plane.delete(one, { gracePeriodSeconds: 60 });
    expect(longer.body.metadata.deletionGracePeriodSeconds).toBe(30);
    const shorter = await plane.delete(one, { gracePeriodSeconds: 3 });
    expect(shorter.body.metadata.deletionGracePeriodSeconds).toBe(3);
    await plane.delete(`${one}?gracePeriodSeconds=0`);
  });

  test('the node agent removes what has ended, by grace 0 and the uid that it saw', async () => {
    const one = await made();
    const { uid } = (await plane.delete(one)).body.metadata;
    const wrong = await plane.delete(one, { gracePeriodSeconds: 0, preconditions: { uid: `${uid}x` } });
    expect(wrong.status).toBe(409);
    expect((await plane.delete(one, { gracePeriodSeconds: 0, preconditions: { uid } })).status).toBe(200);
    expect((await plane.get(one)).status).toBe(404);
  });
});

describe('propagation', () => {
  const plane = usePlane();

  /** A replica set and a pod of it; their paths. */
  async function family(blockOwnerDeletion = false): Promise<readonly [string, string]> {
    const folder = await plane.namespace();
    const sets = `${folder.replace('/api/v1', '/apis/apps/v1')}/replicasets`;
    const { uid } = (await plane.post(sets, workload('ReplicaSet', 'owner'))).body.metadata;
    const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'owner', uid, controller: true };
    const ownerReferences = [{ ...owner, blockOwnerDeletion }];
    await plane.post(`${folder}/pods`, pod('child', {}, { ownerReferences, labels: { app: 'owner' } }));
    return [`${sets}/owner`, `${folder}/pods/child`];
  }

  test('Background removes the owner at once, its dependents after it', async () => {
    const [owner, child] = await family();
    await plane.delete(owner, { propagationPolicy: 'Background' });
    expect((await plane.get(owner)).status).toBe(404);
    await gone(plane, child);
  });

  test('without a policy it is Background for the stable workloads', async () => {
    const [owner, child] = await family();
    await plane.delete(owner);
    await gone(plane, child);
    expect((await plane.get(owner)).status).toBe(404);
  });

  test('Foreground marks the owner until its dependents are gone', async () => {
    const [owner, child] = await family(true);
    await plane.patch(child, { metadata: { finalizers: ['e.com/hold'] } });
    const { body } = await plane.delete(owner, { propagationPolicy: 'Foreground' });
    expect(body.metadata.finalizers).toEqual(['foregroundDeletion']);
    await using stream = await plane.watch(`${child}?watch=1`);
    for (let event = await stream.next(); ; event = await stream.next()) {
      if (event?.object.metadata.deletionTimestamp !== undefined) break;
    }
    expect((await plane.get(owner)).body.metadata.deletionTimestamp).toBeDefined();
    await plane.patch(child, { metadata: { finalizers: null } });
    await gone(plane, owner);
    expect((await plane.get(child)).status).toBe(404);
  });

  test('Orphan leaves the dependents and removes their owner reference', async () => {
    const [owner, child] = await family();
    const { body } = await plane.delete(owner, { propagationPolicy: 'Orphan' });
    expect(body.metadata.finalizers).toEqual(['orphan']);
    await gone(plane, owner);
    const left = (await plane.get(child)).body.metadata;
    expect(left.ownerReferences ?? []).toEqual([]);
    expect(left.deletionTimestamp).toBeUndefined();
  });

  test.each(['jobs', 'replicationcontrollers'])('without a policy it is Orphan for %s', async (plural) => {
    const sample = samples(plane.words).find((each) => each.plural === plural);
    const { path = '', object } = sample ?? {};
    const one = `${path}/${object?.metadata.name}`;
    await plane.post(path, object);
    expect((await plane.delete(one)).body.metadata.finalizers).toEqual(['orphan']);
    await gone(plane, one);
  });

  test('an object whose owner never existed is deleted; one remaining owner preserves it', async () => {
    const folder = await plane.namespace();
    const ghost = { apiVersion: 'v1', kind: 'ConfigMap', name: 'ghost', uid: 'never' };
    const live = (await plane.post(`${folder}/configmaps`, configMap('live'))).body.metadata;
    const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'live', uid: live.uid };
    await plane.post(`${folder}/secrets`, { metadata: { name: 'kept', ownerReferences: [ghost, owner] } });
    await plane.post(`${folder}/secrets`, { metadata: { name: 'lost', ownerReferences: [ghost] } });
    await gone(plane, `${folder}/secrets/lost`);
    expect((await plane.get(`${folder}/secrets/kept`)).status).toBe(200);
  });
});

describe('collections', () => {
  const plane = usePlane();
  const names = async (path: string): Promise<readonly unknown[]> =>
    (await plane.get(path)).body.items.map(({ metadata }) => metadata.name);

  test.each([
    ['labelSelector=tier%3Dx', ['b', 'c']],
    ['fieldSelector=metadata.name%3Da', ['b', 'c']],
    ['labelSelector=tier%21%3Dx', ['a']],
    ['dryRun=All', ['a', 'b', 'c']],
    ['limit=2', ['c']],
    ['', []],
  ])('deletecollection %s leaves %j', async (query, left) => {
    const path = `${await plane.namespace()}/configmaps`;
    await plane.post(path, configMap('a', '1', { labels: { tier: 'x' } }));
    await plane.post(path, configMap('b', '1', { labels: { tier: 'y' } }));
    await plane.post(path, configMap('c'));
    const { status, body } = await plane.delete(`${path}?${query}`);
    expect({ status, body }).toMatchObject({
      status: 200,
      body: { kind: 'Status', status: 'Success', details: { kind: 'configmaps' } },
    });
    expect(await names(path)).toEqual(left);
  });

  test('options hold for each object of it', async () => {
    const folder = await plane.namespace();
    await plane.post('/api/v1/nodes', { metadata: { name: 'n1' } });
    await plane.post(`${folder}/pods`, pod('a', { nodeName: 'n1' }));
    await plane.delete(`${folder}/pods?gracePeriodSeconds=7`);
    const { metadata } = (await plane.get(`${folder}/pods/a`)).body;
    expect(metadata.deletionGracePeriodSeconds).toBe(7);
    await plane.delete(`${folder}/pods`, { gracePeriodSeconds: 0 });
    expect(await names(`${folder}/pods`)).toEqual([]);
  });

  test('a collection of another namespace stays', async () => {
    const [a, b] = [await plane.namespace(), await plane.namespace()];
    for (const folder of [a, b]) await plane.post(`${folder}/configmaps`, configMap('x'));
    await plane.delete(`${a}/configmaps`);
    expect([await names(`${a}/configmaps`), await names(`${b}/configmaps`)]).toEqual([[], ['x']]);
  });
});

describe('namespaces', () => {
  const plane = usePlane();

  test('a namespace goes with all that is in it', async () => {
    const folder = await plane.namespace();
    const apps = folder.replace('/api/v1', '/apis/apps/v1');
    await plane.post(`${folder}/configmaps`, configMap('a'));
    await plane.post(`${folder}/pods`, pod('a'));
    await plane.post(`${apps}/deployments`, workload('Deployment', 'a'));
    const { status, body } = await plane.delete(folder);
    expect({ status, body }).toMatchObject({
      status: 200,
      body: {
        kind: 'Namespace',
        spec: { finalizers: [plane.words.namespaceFinalizer] },
        status: { phase: 'Terminating' },
      },
    });
    await gone(plane, folder);
    for (const path of [`${folder}/configmaps`, `${folder}/pods`, `${apps}/deployments`]) {
      expect((await plane.get(path)).body.items).toEqual([]);
    }
    expect(
      (await plane.post('/api/v1/namespaces', { metadata: { name: folder.split('/').at(-1) } })).status,
    ).toBe(201);
  });

  test('while it terminates it accepts no objects, and reports what blocks it', async () => {
    const folder = await plane.namespace();
    await plane.post(`${folder}/configmaps`, configMap('held', '1', { finalizers: ['e.com/hold'] }));
    await plane.delete(folder);
    const late = await plane.post(`${folder}/configmaps`, configMap('late'));
    expect(late).toMatchObject({ status: 403, body: { reason: 'Forbidden' } });
    expect(late.body.details.causes).toMatchObject([{ reason: 'NamespaceTerminating' }]);
    await using stream = await plane.watch(`${folder}?watch=1`);
    let conditions: readonly Json[] = [];
    while (conditions.length === 0) {
      const event = await stream.next();
      conditions = (event?.object.status['conditions'] ?? []) as readonly Json[];
    }
    expect(conditions).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ type: 'NamespaceContentRemaining', status: 'True' }),
        expect.objectContaining({ type: 'NamespaceFinalizersRemaining', status: 'True' }),
      ]),
    );
    expect((await plane.patch(`${folder}/configmaps/held`, { data: { x: 'y' } })).status).toBe(200);
    await plane.patch(`${folder}/configmaps/held`, { metadata: { finalizers: null } });
    await gone(plane, folder);
  });

  test.each(['default', plane.words.systemNamespace, plane.words.publicNamespace])(
    '%s cannot be deleted (403)',
    async (name) => {
      expect((await plane.delete(`/api/v1/namespaces/${name}`)).status).toBe(403);
    },
  );

  test('nothing is created in a namespace that does not exist (404)', async () => {
    const response = await plane.post('/api/v1/namespaces/nowhere/configmaps', configMap('a'));
    expect(response).toMatchObject({
      status: 404,
      body: { details: { name: 'nowhere', kind: 'namespaces' } },
    });
  });

  test('other finalizers of a namespace are removed through finalize', async () => {
    const name = 'finalized';
    const one = `/api/v1/namespaces/${name}`;
    await plane.post('/api/v1/namespaces', { metadata: { name }, spec: { finalizers: ['e.com/mine'] } });
    await plane.delete(one);
    expect((await plane.get(one)).body.spec['finalizers']).toContain('e.com/mine');
    const final = { metadata: { name }, spec: { finalizers: [] } };
    expect((await plane.put(`${one}/finalize`, final)).status).toBe(200);
    await gone(plane, one);
  });
});
