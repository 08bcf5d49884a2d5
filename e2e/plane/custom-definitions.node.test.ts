/** Custom resource definitions: served resources, names, versions, and deletion. apiextensions/v1. */
import { writeFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import {
  conditionsOf,
  define,
  definition,
  definitions,
  holds,
  untilDefinition,
  untilGone,
} from './definitions.ts';
import { APPLY, JSON_PATCH, usePlane, VOCABULARY_NAMES, WAIT } from './support.ts';

describe.each(VOCABULARY_NAMES)('definitions (%s)', (vocabulary) => {
  const plane = usePlane(vocabulary);
  const x = (name: string): string => `${plane.words.schemaExtensionPrefix}${name}`;

  test('an established definition is served and published at once', async () => {
    const cakes = await define(plane, {
      plural: 'cakes',
      names: { shortNames: ['ck'], categories: ['all'] },
      versions: [{ more: { subresources: { status: {} } } }],
    });
    const [listed, groups, resources] = await Promise.all([
      plane.get(cakes.collection()),
      plane.get('/apis'),
      plane.get('/apis/shop.example/v1'),
    ]);
    expect(listed.body).toMatchObject({ kind: 'CakeList', apiVersion: 'shop.example/v1', items: [] });
    expect(groups.text).toContain('"shop.example"');
    expect(JSON.parse(resources.text)).toMatchObject({
      resources: [
        {
          name: 'cakes',
          singularName: 'cake',
          namespaced: true,
          kind: 'Cake',
          shortNames: ['ck'],
          categories: ['all'],
          verbs: ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch'],
        },
        { name: 'cakes/status', kind: 'Cake', verbs: ['get', 'patch', 'update'] },
      ],
    });
    const { body } = await plane.get(cakes.path);
    expect(body.status).toMatchObject({
      storedVersions: ['v1'],
      acceptedNames: { plural: 'cakes', singular: 'cake', kind: 'Cake', listKind: 'CakeList' },
    });
    expect(holds(body, 'NamesAccepted')).toBe(true);
  });

  test('every validation error of a definition is reported, with its path', async () => {
    const root = {
      type: 'object',
      properties: {
        spec: {
          properties: { a: { type: 'text' }, b: { type: 'string', pattern: '(' } },
        },
        list: { type: 'array', [x('list-type')]: 'map', items: { type: 'object' } },
        wrong: { type: 'integer', default: 'one' },
        any: { type: 'object', anyOf: [{ properties: { z: { type: 'string' } } }] },
      },
    };
    const more = { additionalPrinterColumns: [{ name: 'A', type: 'text', jsonPath: '.a[' }] };
    const { status, body } = await plane.post(
      definitions(plane),
      definition(plane, { plural: 'faulties', versions: [{ root, more }] }),
    );
    expect(status).toBe(422);
    const fields = body.details.causes?.map(({ field }) => field) ?? [];
    const schema = 'spec.versions[0].schema.openAPIV3Schema';
    for (const field of [
      `${schema}.properties[spec].type`,
      `${schema}.properties[spec].properties[a].type`,
      `${schema}.properties[spec].properties[b].pattern`,
      `${schema}.properties[list].${x('list-map-keys')}`,
      `${schema}.properties[any].anyOf[0].properties[z].type`,
      'spec.versions[0].additionalPrinterColumns[0].type',
      'spec.versions[0].additionalPrinterColumns[0].jsonPath',
    ]) {
      expect(fields).toContain(field);
    }
  });

  test('rules in expressions are left out, as their gate is off', async () => {
    const a = { type: 'string', [x('validations')]: [{ rule: 'self != ""' }] };
    const ruled = await define(plane, { plural: 'ruled', versions: [{ properties: { a } }] });
    expect((await plane.get(ruled.path)).text).not.toContain('validations');
    expect((await ruled.create('r', { a: '' })).status).toBe(201);
  });

  test('a default must be valid by the schema', async () => {
    const properties = { count: { type: 'integer', default: 'one' } };
    const { status, body } = await plane.post(
      definitions(plane),
      definition(plane, { plural: 'defaulties', versions: [{ properties }] }),
    );
    expect(status).toBe(422);
    expect(body.details.causes?.[0]?.field).toBe(
      'spec.versions[0].schema.openAPIV3Schema.properties[count].default',
    );
  });

  test('names that another definition of the group has are reported, and accepted once they are free', async () => {
    await define(plane, { plural: 'pies', names: { shortNames: ['pi'] } });
    const second = definition(plane, { plural: 'tarts', kind: 'Pie', names: { shortNames: ['pi'] } });
    await plane.post(definitions(plane), second);
    const refused = await untilDefinition(plane, 'tarts.shop.example', (body) =>
      holds(body, 'NamesAccepted', 'False'),
    );
    expect(conditionsOf(refused)).toMatchObject([
      {
        type: 'NamesAccepted',
        status: 'False',
        reason: 'ListKindConflict',
        message: '"PieList" is already in use',
      },
      { type: 'Established', status: 'False', reason: 'NotAccepted' },
    ]);
    expect((await plane.get('/apis/shop.example/v1/tarts')).status).toBe(404);
    await plane.delete(`${definitions(plane)}/pies.shop.example`);
    await untilDefinition(plane, 'tarts.shop.example', (body) => holds(body, 'Established'));
    expect((await plane.get('/apis/shop.example/v1/tarts')).status).toBe(200);
  });

  test('a definition is deleted after its objects, which their finalizers hold', async () => {
    const buns = await define(plane, { plural: 'buns' });
    await buns.create('held', { metadata: { finalizers: ['shop.example/oven'] } });
    await buns.create('free');
    const deleted = await plane.delete(buns.path);
    expect(deleted.body.metadata.finalizers).toEqual([
      `customresourcecleanup.apiextensions.${plane.words.apiGroupDomain}`,
    ]);
    expect(holds(deleted.body, 'Terminating')).toBe(true);
    await using watch = await plane.watch(`${buns.collection()}?watch=1`);
    while ((await plane.get(`${buns.collection()}/free`)).status === 200) await watch.next();
    expect(await buns.create('late')).toMatchObject({ status: 405, body: { reason: 'MethodNotAllowed' } });
    const applied = await plane.call(
      'PATCH',
      `${buns.collection()}/late?fieldManager=m`,
      buns.object('late'),
      {
        type: APPLY,
      },
    );
    expect(applied.status).toBe(405);
    const removal = [{ op: 'remove', path: '/metadata/finalizers' }];
    expect((await plane.patch(`${buns.collection()}/held`, removal, JSON_PATCH)).status).toBe(200);
    await untilGone(plane, buns.name);
    expect((await plane.get(buns.collection())).status).toBe(404);
    const again = await define(plane, { plural: 'buns' });
    expect((await plane.get(again.collection())).body.items).toEqual([]);
  });

  test('a version that is no longer served is gone, and its watches end', async () => {
    const rolls = await define(plane, {
      plural: 'rolls',
      versions: [{ name: 'v1' }, { name: 'v2', storage: false }],
    });
    await rolls.create('a');
    await using watch = await plane.watch(`${rolls.collection('v2')}?watch=1`);
    expect(await watch.take(1)).toEqual(['ADDED a']);
    expect(
      (await rolls.change([{ op: 'replace', path: '/spec/versions/1/served', value: false }])).status,
    ).toBe(200);
    expect(await watch.next()).toBeUndefined();
    expect((await plane.get(rolls.collection('v2'))).status).toBe(404);
    expect((await plane.get(rolls.collection('v1'))).body.items).toHaveLength(1);
  });

  test('versions that objects were stored in are remembered', async () => {
    const loaves = await define(plane, {
      plural: 'loaves',
      versions: [{ name: 'v1' }, { name: 'v2', storage: false }],
    });
    const changed = await loaves.change([
      { op: 'replace', path: '/spec/versions/0/storage', value: false },
      { op: 'replace', path: '/spec/versions/1/storage', value: true },
    ]);
    expect(changed.body.status['storedVersions']).toEqual(['v1', 'v2']);
    const without = await loaves.change([{ op: 'remove', path: '/spec/versions/0' }]);
    expect(without).toMatchObject({
      status: 422,
      body: { details: { causes: [{ field: 'status.storedVersions[0]' }] } },
    });
  });

  test('resources of the cluster have no namespace', async () => {
    const ovens = await define(plane, { plural: 'ovens', scope: 'Cluster' });
    expect((await ovens.create('big')).status).toBe(201);
    expect((await plane.get('/apis/shop.example/v1/ovens/big')).body.metadata.namespace).toBeUndefined();
    expect((await plane.get('/apis/shop.example/v1/namespaces/default/ovens')).status).toBe(404);
  });

  test('objects go with their namespace', async () => {
    await define(plane, { plural: 'crumbs' });
    const ns = await plane.namespace();
    const name = ns.split('/').at(-1) ?? '';
    const crumbs = `/apis/shop.example/v1/namespaces/${name}/crumbs`;
    expect((await plane.post(crumbs, { metadata: { name: 'a' } })).status).toBe(201);
    await using watch = await plane.watch(`/api/v1/namespaces?watch=1&fieldSelector=metadata.name=${name}`);
    await plane.delete(ns);
    while ((await watch.next())?.type !== 'DELETED');
    expect((await plane.get(crumbs)).body.items).toEqual([]);
  });

  test('a definition of a megabyte is used as soon as it is established, and after a restart', async () => {
    const member = (index: number): object => ({
      type: 'object',
      description: 'word '.repeat(150),
      properties: { a: { type: 'string', pattern: `^[a-z]{1,${index + 1}}$` } },
    });
    const members = Array.from({ length: 1000 }, (_, index) => [`m${index}`, member(index % 50)] as const);
    const shape = { plural: 'feasts', versions: [{ properties: Object.fromEntries(members) }] };
    const feasts = await define(plane, shape);
    expect((await feasts.create('a', { m0: { a: 'x' }, m1: { a: 'xx', b: 1 } })).status).toBe(201);
    expect((await feasts.create('b', { m0: { a: 'xx' } })).status).toBe(422);
    await plane.server.restart();
    expect((await plane.get(`${feasts.collection()}/a`)).body).toMatchObject({ m1: { a: 'xx' } });
    await plane.delete(feasts.path);
  });

  test('objects survive a restart', async () => {
    const flans = await define(plane, {
      plural: 'flans',
      versions: [{ properties: { a: { type: 'string' } } }],
    });
    await flans.create('a', { a: 'x' });
    await plane.server.restart();
    expect((await plane.get(`${flans.collection()}/a`)).body).toMatchObject({ a: 'x' });
  });
});

describe('who may do what with custom resources', () => {
  const plane = usePlane('plat', async (dir) => {
    await writeFile(`${dir}/tokens`, 'baker-t,baker,1\n');
    return ['--token-auth-file', `${dir}/tokens`];
  });

  test('is granted by roles, as for all resources', async () => {
    const cakes = await define(plane, {
      plural: 'cakes',
      versions: [{ more: { subresources: { status: {} } } }],
    });
    await cakes.create('a');
    const baker = plane.as('baker-t');
    expect((await baker.get(cakes.collection())).status).toBe(403);
    const roles = plane.path('rbac.authorization/v1', 'namespaces/default/roles');
    const metadata = { name: 'bakers' };
    const verbs = ['get', 'list'];
    await plane.post(roles, {
      metadata,
      rules: [{ apiGroups: ['shop.example'], resources: ['cakes'], verbs }],
    });
    await plane.post(roles.replace(/roles$/, 'rolebindings'), {
      metadata,
      roleRef: { apiGroup: `rbac.authorization.${plane.words.apiGroupDomain}`, kind: 'Role', name: 'bakers' },
      subjects: [{ kind: 'User', name: 'baker' }],
    });
    const read = async (): Promise<number> => (await baker.get(`${cakes.collection()}/a`)).status;
    await expect.poll(read, { ...WAIT, interval: 5 }).toBe(200);
    expect((await baker.get(`${cakes.collection()}/a/status`)).status).toBe(403);
    expect((await baker.get('/apis/shop.example/v1/cakes')).status).toBe(403);
    const refused = await baker.post(cakes.collection(), cakes.object('b'));
    expect(refused).toMatchObject({ status: 403, body: { reason: 'Forbidden' } });
    expect(refused.body.message).toContain('cannot create resource "cakes" in API group "shop.example"');
  });

  test('nothing is created in a namespace that does not exist', async () => {
    await define(plane, { plural: 'pies' });
    const made = await plane.post('/apis/shop.example/v1/namespaces/nowhere/pies', {
      metadata: { name: 'a' },
    });
    expect(made).toMatchObject({ status: 404, body: { details: { kind: 'namespaces', name: 'nowhere' } } });
  });
});
