/** Objects of custom resource definitions. apiextensions/v1; document 1 §4.7 and 4.9. */
import { describe, expect, test } from 'vitest';
import { define } from './definitions.ts';
import { APPLY, JSON_PATCH, type Json, STRATEGIC, usePlane, VOCABULARY_NAMES } from './support.ts';

const TABLE = (domain: string): string => `application/json;as=Table;g=meta.${domain};v=v1`;

describe.each(VOCABULARY_NAMES)('objects of a definition (%s)', (vocabulary) => {
  const plane = usePlane(vocabulary);
  const x = (name: string): string => `${plane.words.schemaExtensionPrefix}${name}`;
  const strict = (path: string): string => `${path}?fieldValidation=Strict`;

  test('every validation error of an object is reported, with its path', async () => {
    const cakes = await define(plane, {
      plural: 'cakes',
      versions: [
        {
          properties: {
            spec: {
              type: 'object',
              required: ['flavor', 'id'],
              properties: {
                flavor: { type: 'string', enum: ['plum', 'lemon'] },
                id: { type: 'string', pattern: '^[a-z]+$', maxLength: 5 },
                pieces: { type: 'integer', minimum: 1, maximum: 12 },
                size: { [x('int-or-string')]: true },
                tags: { type: 'array', maxItems: 1, items: { type: 'string' } },
                layers: {
                  type: 'array',
                  [x('list-type')]: 'map',
                  [x('list-map-keys')]: ['name'],
                  items: { type: 'object', required: ['name'], properties: { name: { type: 'string' } } },
                },
              },
            },
          },
        },
      ],
    });
    const spec = {
      flavor: 'tar',
      pieces: 13,
      size: {},
      tags: ['a', 'b'],
      layers: [{ name: 'a' }, { name: 'a' }, {}],
    };
    const { status, body } = await cakes.create('bad', { spec });
    expect(status).toBe(422);
    expect(body).toMatchObject({
      reason: 'Invalid',
      details: { name: 'bad', group: 'shop.example', kind: 'Cake' },
    });
    expect(new Set(body.details.causes?.map(({ reason, field }) => `${reason} ${field}`))).toEqual(
      new Set([
        'FieldValueNotSupported spec.flavor',
        'FieldValueRequired spec.id',
        'FieldValueInvalid spec.pieces',
        'FieldValueTypeInvalid spec.size',
        'FieldValueTooMany spec.tags',
        'FieldValueDuplicate spec.layers[1]',
        'FieldValueRequired spec.layers[2].name',
      ]),
    );
    const good = await cakes.create('good', { spec: { flavor: 'plum', id: 'abc', size: '50%' } });
    expect(good.status).toBe(201);
    const patched = await plane.patch(`${cakes.collection()}/good`, { spec: { pieces: 0 } });
    expect(patched).toMatchObject({ status: 422, body: { details: { causes: [{ field: 'spec.pieces' }] } } });
  });

  test('unknown members are dropped, reported, or rejected', async () => {
    const free = { type: 'object', [x('preserve-unknown-fields')]: true };
    const spec = { type: 'object', properties: { known: { type: 'string' }, free } };
    const pies = await define(plane, { plural: 'pies', versions: [{ properties: { spec } }] });
    const given = { spec: { known: 'a', odd: 1, free: { any: { thing: [1] } } } };
    const made = await pies.create('a', given);
    expect(made.body.spec).toEqual({ known: 'a', free: { any: { thing: [1] } } });
    expect(made.headers['warning']).toBe('299 - "unknown field \\"spec.odd\\""');
    const refused = await plane.post(strict(pies.collection()), pies.object('b', given));
    expect(refused).toMatchObject({ status: 400, body: { reason: 'BadRequest' } });
    expect(refused.body.message).toContain('unknown field "spec.odd"');
    const ignored = await plane.post(`${pies.collection()}?fieldValidation=Ignore`, pies.object('c', given));
    expect(ignored.headers['warning']).toBeUndefined();
  });

  test('nullable members may be null, others are what they are by default', async () => {
    const tarts = await define(plane, {
      plural: 'tarts',
      versions: [
        {
          properties: {
            a: { type: 'string', nullable: true, default: 'x' },
            b: { type: 'string', default: 'y' },
            e: { type: 'string' },
            c: { type: 'object', default: {}, properties: { d: { type: 'integer', default: 3 } } },
          },
        },
      ],
    });
    expect((await tarts.create('n', { a: null, b: null })).body).toMatchObject({
      a: null,
      b: 'y',
      c: { d: 3 },
    });
    expect((await tarts.create('m')).body).toMatchObject({ a: 'x', b: 'y', c: { d: 3 } });
    const nothing = await tarts.create('o', { e: null });
    expect(nothing.status).toBe(201);
    expect(nothing.body).not.toHaveProperty('e');
    expect((await tarts.create('w', { a: 'z', c: null })).body).toMatchObject({ a: 'z', c: { d: 3 } });
  });

  test('objects inside of objects are objects', async () => {
    const template = {
      type: 'object',
      [x('embedded-resource')]: true,
      [x('preserve-unknown-fields')]: true,
    };
    const kits = await define(plane, { plural: 'kits', versions: [{ properties: { template } }] });
    const bad = await kits.create('bad', { template: { metadata: { name: 'UPPER/x' }, data: 1 } });
    expect(bad.body.details.causes?.map(({ field }) => field)).toEqual([
      'template.apiVersion',
      'template.kind',
      'template.metadata.name',
    ]);
    const good = await kits.create('good', {
      template: { apiVersion: 'v1', kind: 'Thing', metadata: { name: 'x', odd: 1 }, data: { a: 1 } },
    });
    expect((good.body as unknown as Json)['template']).toEqual({
      apiVersion: 'v1',
      kind: 'Thing',
      metadata: { name: 'x' },
      data: { a: 1 },
    });
  });

  test('objects that were stored before have the defaults of today, and nothing that is unknown today', async () => {
    const buns = await define(plane, {
      plural: 'buns',
      versions: [{ properties: { old: { type: 'string' }, kept: { type: 'string' } } }],
    });
    await buns.create('a', { old: '1', kept: '2' });
    await using watch = await plane.watch(`${buns.collection()}?watch=1`);
    await watch.take(1);
    await buns.change([
      {
        op: 'replace',
        path: '/spec/versions/0/schema/openAPIV3Schema/properties',
        value: { kept: { type: 'string' }, fresh: { type: 'integer', default: 7 } },
      },
    ]);
    expect(await watch.next()).toBeUndefined();
    const { body } = await plane.get(`${buns.collection()}/a`);
    expect(body).toMatchObject({ kept: '2', fresh: 7 });
    expect(body).not.toHaveProperty('old');
    expect((await plane.get(buns.collection())).body.items).toEqual([body]);
    await using again = await plane.watch(`${buns.collection()}?watch=1`);
    expect((await again.next())?.object).toEqual(body);
  });

  test('generation counts what is no metadata and no status; the status has a part of its own', async () => {
    const rolls = await define(plane, {
      plural: 'rolls',
      versions: [
        {
          properties: {
            spec: { type: 'object', properties: { a: { type: 'integer' } } },
            status: { type: 'object', properties: { b: { type: 'integer', maximum: 5 } } },
          },
          more: { subresources: { status: {} } },
        },
      ],
    });
    const path = `${rolls.collection()}/r`;
    const made = await rolls.create('r', { spec: { a: 1 }, status: { b: 1 } });
    expect(made.body.metadata.generation).toBe(1);
    expect(made.body.status).toBeUndefined();
    const labelled = await plane.patch(path, { metadata: { labels: { x: 'y' } }, status: { b: 2 } });
    expect(labelled.body).toMatchObject({ metadata: { generation: 1, labels: { x: 'y' } } });
    expect(labelled.body.status).toBeUndefined();
    const status = await plane.patch(`${path}/status`, { spec: { a: 9 }, status: { b: 3 } });
    expect(status.body).toMatchObject({ metadata: { generation: 1 }, spec: { a: 1 }, status: { b: 3 } });
    const changed = await plane.patch(path, { spec: { a: 2 } });
    expect(changed.body).toMatchObject({ metadata: { generation: 2 }, status: { b: 3 } });
    const bad = await plane.patch(`${path}/status`, { status: { b: 6 } });
    expect(bad).toMatchObject({ status: 422, body: { details: { causes: [{ field: 'status.b' }] } } });
    const without = await plane.put(path, rolls.object('r', { spec: { a: 3 } }));
    expect(without).toMatchObject({
      status: 422,
      body: { details: { causes: [{ field: 'metadata.resourceVersion' }] } },
    });
  });

  test('scale shows and sets the number of pods at the paths of the definition', async () => {
    const sets = await define(plane, {
      plural: 'sets',
      versions: [
        {
          properties: {
            spec: { type: 'object', properties: { wanted: { type: 'integer', minimum: 0 } } },
            status: {
              type: 'object',
              properties: { there: { type: 'integer' }, selector: { type: 'string' } },
            },
          },
          more: {
            subresources: {
              status: {},
              scale: {
                specReplicasPath: '.spec.wanted',
                statusReplicasPath: '.status.there',
                labelSelectorPath: '.status.selector',
              },
            },
          },
        },
      ],
    });
    const path = `${sets.collection()}/s`;
    await sets.create('s', { spec: { wanted: 2 } });
    await plane.patch(`${path}/status`, { status: { there: 1, selector: 'a=b' } });
    const scale = await plane.get(`${path}/scale`);
    expect(scale.body).toMatchObject({
      kind: 'Scale',
      apiVersion: 'autoscaling/v1',
      metadata: { name: 's', namespace: 'default' },
      spec: { replicas: 2 },
      status: { replicas: 1, selector: 'a=b' },
    });
    const put = await plane.put(`${path}/scale`, { ...scale.body, spec: { replicas: 4 } });
    expect(put.body.spec).toEqual({ replicas: 4 });
    expect((await plane.patch(`${path}/scale`, { spec: { replicas: 5 } })).status).toBe(200);
    expect((await plane.get(path)).body).toMatchObject({ spec: { wanted: 5 }, metadata: { generation: 3 } });
    expect((await plane.patch(`${path}/scale`, { spec: { replicas: -1 } })).status).toBe(422);
    await sets.create('none');
    expect((await plane.get(`${sets.collection()}/none/scale`)).status).toBe(500);
  });

  test('tables have the columns of the definition', async () => {
    const jams = await define(plane, {
      plural: 'jams',
      versions: [
        {
          root: { type: 'object', [x('preserve-unknown-fields')]: true },
          more: {
            additionalPrinterColumns: [
              { name: 'Ready', type: 'string', jsonPath: '.conditions[?(@.type=="Ready")].status' },
              { name: 'Sugar', type: 'integer', jsonPath: '.sugar', priority: 1, description: 'grams' },
              { name: 'Due', type: 'date', jsonPath: '.due' },
              { name: 'Fruit', type: 'string', jsonPath: '.fruit' },
            ],
          },
        },
      ],
    });
    await jams.create('plum', {
      conditions: [
        { type: 'Other', status: 'No' },
        { type: 'Ready', status: 'Yes' },
      ],
      sugar: 7.9,
      due: '2001-01-01T00:00:00Z',
      fruit: { name: 'plum' },
    });
    await jams.create('rose', { sugar: 'much' });
    const { body } = await plane.get(jams.collection(), { accept: TABLE(plane.words.apiGroupDomain) });
    expect(body.columnDefinitions).toMatchObject([
      { name: 'Name', type: 'string', format: 'name' },
      { name: 'Ready', priority: 0 },
      { name: 'Sugar', priority: 1, description: 'grams' },
      { name: 'Due', type: 'date' },
      { name: 'Fruit' },
    ]);
    expect(body.rows.map(({ cells }) => cells)).toEqual([
      ['plum', 'Yes', 7, expect.stringMatching(/^\d+y$/), '{"name":"plum"}'],
      ['rose', null, null, null, null],
    ]);
    const plain = await define(plane, { plural: 'plains' });
    await plain.create('a');
    const table = await plane.get(plain.collection(), { accept: TABLE(plane.words.apiGroupDomain) });
    expect(table.body.columnDefinitions.map(({ name }) => name)).toEqual(['Name', 'Age']);
    expect(table.body.rows[0]?.cells).toEqual(['a', expect.stringMatching(/^\d+s$/)]);
  });

  test('lists merge by their keys when they are applied, and each manager owns its items', async () => {
    const ports = {
      type: 'array',
      [x('list-type')]: 'map',
      [x('list-map-keys')]: ['port', 'protocol'],
      items: {
        type: 'object',
        required: ['port'],
        properties: {
          port: { type: 'integer' },
          protocol: { type: 'string', default: 'TCP' },
          name: { type: 'string' },
        },
      },
    };
    const tags = { type: 'array', [x('list-type')]: 'set', items: { type: 'string' } };
    const whole = { type: 'array', items: { type: 'string' } };
    const hubs = await define(plane, { plural: 'hubs', versions: [{ properties: { ports, tags, whole } }] });
    const path = `${hubs.collection()}/h`;
    const apply = (manager: string, members: Json) =>
      plane.call('PATCH', `${path}?fieldManager=${manager}`, hubs.object('h', members), { type: APPLY });
    expect((await apply('a', { ports: [{ port: 80, name: 'a' }], tags: ['x'], whole: ['1'] })).status).toBe(
      201,
    );
    const both = await apply('b', { ports: [{ port: 81 }], tags: ['y'] });
    expect(both.body).toMatchObject({
      ports: [
        { port: 80, protocol: 'TCP', name: 'a' },
        { port: 81, protocol: 'TCP' },
      ],
      tags: ['x', 'y'],
      whole: ['1'],
    });
    const conflict = await apply('b', { ports: [{ port: 80, name: 'b' }], whole: ['2'] });
    expect(conflict).toMatchObject({ status: 409, body: { reason: 'Conflict' } });
    expect(conflict.body.details.causes?.map(({ field }) => field).toSorted()).toEqual([
      '.ports[port=80,protocol="TCP"].name',
      '.whole',
    ]);
    const less = await apply('b', {});
    expect(less.body).toMatchObject({ ports: [{ port: 80 }], tags: ['x'] });
    expect((less.body as unknown as { ports: unknown[] }).ports).toHaveLength(1);
    const odd = await apply('c', { none: 1 });
    expect(odd.status).not.toBe(500);
  });

  test('strategic merge patches and protobuf are not for custom resources', async () => {
    const nuts = await define(plane, {
      plural: 'nuts',
      versions: [{ properties: { a: { type: 'integer' } } }],
    });
    await nuts.create('n', { a: 1 });
    const path = `${nuts.collection()}/n`;
    expect(await plane.patch(path, { a: 2 }, STRATEGIC)).toMatchObject({
      status: 415,
      body: { reason: 'UnsupportedMediaType' },
    });
    expect((await plane.patch(path, { a: 2 })).body).toMatchObject({ a: 2 });
    const operations = [
      { op: 'test', path: '/a', value: 2 },
      { op: 'replace', path: '/a', value: 3 },
    ];
    expect((await plane.patch(path, operations, JSON_PATCH)).body).toMatchObject({ a: 3 });
    const accept = plane.words.protobufContentType;
    expect((await plane.get(path, { accept })).status).toBe(406);
    expect((await plane.get(path, { accept: `${accept},application/json` })).body).toMatchObject({ a: 3 });
    const sent = await plane.post(nuts.collection(), Buffer.from('k8s\0'), { type: accept });
    expect(sent.status).toBe(415);
  });

  test('changes are watched, selected and listed in pages like those of any kind', async () => {
    const figs = await define(plane, { plural: 'figs' });
    await using watch = await plane.watch(`${figs.collection()}?watch=1&labelSelector=ripe=yes`);
    await using names = await plane.watch(`${figs.collection()}?watch=1&fieldSelector=metadata.name=b`);
    await figs.create('a', { metadata: { labels: { ripe: 'yes' } } });
    await figs.create('b');
    await plane.patch(`${figs.collection()}/b`, { metadata: { labels: { ripe: 'yes' } } });
    await plane.patch(`${figs.collection()}/a`, { metadata: { labels: { ripe: 'no' } } });
    await plane.delete(`${figs.collection()}/b`);
    expect(await watch.take(4)).toEqual(['ADDED a', 'ADDED b', 'DELETED a', 'DELETED b']);
    expect(await names.take(3)).toEqual(['ADDED b', 'MODIFIED b', 'DELETED b']);
    await Promise.all(['c', 'd', 'e'].map((name) => figs.create(name)));
    const first = await plane.get(`${figs.collection()}?limit=2`);
    expect(first.body.items.map(({ metadata }) => metadata.name)).toEqual(['a', 'c']);
    const rest = await plane.get(
      `${figs.collection()}?limit=9&continue=${first.body.metadata.continue ?? ''}`,
    );
    expect(rest.body.items.map(({ metadata }) => metadata.name)).toEqual(['d', 'e']);
    expect((await plane.get(`${figs.collection()}?fieldSelector=spec.a=1`)).status).toBe(400);
    const gone = await plane.delete(figs.collection());
    expect(gone.body).toMatchObject({ kind: 'Status', status: 'Success' });
    expect((await plane.get(figs.collection())).body.items).toEqual([]);
  });

  test('a version that its definition calls deprecated warns', async () => {
    const old = await define(plane, {
      plural: 'olds',
      versions: [
        { name: 'v1', more: { deprecated: true, deprecationWarning: 'use something new' } },
        { name: 'v2', storage: false, more: { deprecated: true } },
      ],
    });
    expect((await plane.get(old.collection('v1'))).headers['warning']).toBe('299 - "use something new"');
    expect((await plane.get(old.collection('v2'))).headers['warning']).toBe(
      '299 - "shop.example/v2 Old is deprecated"',
    );
  });

  test('a hostile pattern does not block other requests', async () => {
    const properties = { text: { type: 'string', pattern: '^(a+)+$' } };
    const traps = await define(plane, { plural: 'traps', versions: [{ properties }] });
    const { status, body } = await traps.create('t', { text: `${'a'.repeat(50_000)}!` });
    expect(status).toBe(422);
    expect(body.details.causes?.[0]?.field).toBe('text');
  });
});
