/** Custom resources in several versions: renamed, or converted by a webhook. apiextensions/v1, conversion. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ConversionWebhook, converting, startConversionWebhook } from './conversion-webhook.ts';
import { type Defined, define, untilGone } from './definitions.ts';
import { APPLY, type Body, type Json, usePlane, VOCABULARY_NAMES } from './support.ts';

const text = { type: 'string' };

/** v1 has `name: "first last"`, v2 has `first` and `last`. */
function convertPerson(object: Body, apiVersion: string): Json {
  const { spec = {} } = object as { readonly spec?: Json };
  if (apiVersion.endsWith('/v1')) {
    return { ...object, spec: { name: `${String(spec['first'])} ${String(spec['last'])}` } };
  }
  const [first = '', last = ''] = String(spec['name']).split(' ');
  return { ...object, spec: { first, last } };
}

const personVersions = [
  { name: 'v1', properties: { spec: { type: 'object', properties: { name: text } } } },
  {
    name: 'v2',
    storage: false,
    properties: {
      spec: {
        type: 'object',
        required: ['first'],
        properties: { first: text, last: { ...text, maxLength: 9 } },
      },
    },
  },
];

describe('conversion None', () => {
  const plane = usePlane();

  test('changes the version alone, and leaves out what the other version lacks', async () => {
    const cups = await define(plane, {
      plural: 'cups',
      versions: [
        { name: 'v1', properties: { a: text, both: text } },
        { name: 'v2', storage: false, properties: { b: { ...text, default: 'x' }, both: text } },
      ],
    });
    const made = await cups.create('c', { a: '1', both: '2' }, 'v1');
    expect(made.body).toMatchObject({ apiVersion: 'shop.example/v1', a: '1', both: '2' });
    const other = await plane.get(`${cups.collection('v2')}/c`);
    expect(other.body).toMatchObject({ apiVersion: 'shop.example/v2', both: '2' });
    expect(other.body).not.toHaveProperty('a');
    expect(other.body.metadata).toEqual(made.body.metadata);
    const listed = await plane.get(cups.collection('v2'));
    expect(listed.body).toMatchObject({ apiVersion: 'shop.example/v2', items: [other.body] });
    const later = await cups.create('d', { b: '3', both: '4' }, 'v2');
    expect(later).toMatchObject({ status: 201, body: { apiVersion: 'shop.example/v2', both: '4' } });
    expect((await plane.get(`${cups.collection('v1')}/d`)).body).not.toHaveProperty('b');
    await using watch = await plane.watch(`${cups.collection('v2')}?watch=1`);
    expect(await watch.take(2)).toEqual(['ADDED c', 'ADDED d']);
    await plane.patch(`${cups.collection('v1')}/c`, { both: '5' });
    expect((await watch.next())?.object).toMatchObject({ apiVersion: 'shop.example/v2', both: '5' });
    const whole = await plane.get(`${cups.collection('v2')}/c`);
    const put = await plane.put(`${cups.collection('v2')}/c`, { ...whole.body, both: '6' });
    expect(put.body).toMatchObject({ both: '6', metadata: { generation: 3 } });
  });

  test('objects stay in the version that they were stored in until they are written', async () => {
    const pots = await define(plane, {
      plural: 'pots',
      versions: [
        { name: 'v1', properties: { a: text } },
        { name: 'v2', storage: false, properties: { a: text } },
      ],
    });
    await pots.create('p', { a: '1' });
    await pots.change([
      { op: 'replace', path: '/spec/versions/0/storage', value: false },
      { op: 'replace', path: '/spec/versions/1/storage', value: true },
    ]);
    for (const version of ['v1', 'v2']) {
      const { body } = await plane.get(`${pots.collection(version)}/p`);
      expect(body).toMatchObject({ apiVersion: `shop.example/${version}`, a: '1' });
    }
    const before = (await plane.get(`${pots.collection('v2')}/p`)).body;
    const same = await plane.put(`${pots.collection('v2')}/p`, before);
    expect(same.body.metadata.resourceVersion).not.toBe(before.metadata.resourceVersion);
    const again = await plane.put(`${pots.collection('v2')}/p`, same.body);
    expect(again.body.metadata.resourceVersion).toBe(same.body.metadata.resourceVersion);
    await plane.server.restart();
    expect((await plane.get(`${pots.collection('v1')}/p`)).body).toMatchObject({ a: '1' });
  });
});

describe.each(VOCABULARY_NAMES)('conversion by a webhook (%s)', (vocabulary) => {
  const plane = usePlane(vocabulary);
  let hook: ConversionWebhook;
  let people: Defined;

  beforeAll(async () => {
    hook = await startConversionWebhook(converting(convertPerson));
    people = await define(plane, {
      plural: 'people',
      kind: 'Person',
      versions: personVersions,
      conversion: {
        strategy: 'Webhook',
        webhook: {
          clientConfig: { url: hook.url, caBundle: hook.caBundle },
          conversionReviewVersions: ['v2', 'v1'],
        },
      },
    });
  });
  afterAll(() => hook[Symbol.asyncDispose]());

  test('objects are read, written, patched and applied in each version', async () => {
    await people.create('ann', { spec: { name: 'Ann Arbor' }, metadata: { labels: { a: 'b' } } }, 'v1');
    expect(hook.reviews).toHaveLength(0);
    const path = `${people.collection('v2')}/ann`;
    const read = await plane.get(path);
    expect(read.body).toMatchObject({
      apiVersion: 'shop.example/v2',
      metadata: { labels: { a: 'b' } },
      spec: { first: 'Ann', last: 'Arbor' },
    });
    const [review] = hook.reviews;
    expect(review).toMatchObject({
      apiVersion: `apiextensions.${plane.words.apiGroupDomain}/v1`,
      kind: 'ConversionReview',
      request: { desiredAPIVersion: 'shop.example/v2', objects: [{ apiVersion: 'shop.example/v1' }] },
    });
    expect(hook.paths[0]).toBe('/convert?timeout=30s');
    const patched = await plane.patch(path, { spec: { last: 'Bor' } });
    expect(patched.body).toMatchObject({ spec: { first: 'Ann', last: 'Bor' }, metadata: { generation: 2 } });
    expect((await plane.get(`${people.collection('v1')}/ann`)).body.spec).toEqual({ name: 'Ann Bor' });
    const put = await plane.put(path, { ...patched.body, spec: { first: 'Anna', last: 'Bor' } });
    expect(put.body.spec).toEqual({ first: 'Anna', last: 'Bor' });
    const made = await people.create('bob', { spec: { first: 'Bob', last: 'Cat' } }, 'v2');
    expect(made).toMatchObject({
      status: 201,
      body: { apiVersion: 'shop.example/v2', spec: { first: 'Bob' } },
    });
    expect((await plane.get(`${people.collection('v1')}/bob`)).body.spec).toEqual({ name: 'Bob Cat' });
    const applied = await plane.call(
      'PATCH',
      `${people.collection('v2')}/cid?fieldManager=m`,
      people.object('cid', { spec: { first: 'Cid', last: 'Dog' } }, 'v2'),
      { type: APPLY },
    );
    expect(applied).toMatchObject({ status: 201, body: { spec: { first: 'Cid', last: 'Dog' } } });
    const dry = await plane.patch(`${path}?dryRun=All`, { spec: { last: 'Dry' } });
    expect(dry.body.spec).toEqual({ first: 'Anna', last: 'Dry' });
  });

  test('the version of the request determines validation', async () => {
    const bad = await people.create('dan', { spec: { last: 'far too long' } }, 'v2');
    expect(bad.body.details.causes?.map(({ field }) => field)).toEqual(['spec.last', 'spec.first']);
    const good = await people.create('eve', { spec: { name: 'Eve Farfartoolong' } }, 'v1');
    expect(good.status).toBe(201);
    await plane.delete(`${people.collection('v1')}/eve`);
  });

  test('a list is one review, a watch is converted in order', async () => {
    await plane.delete(people.collection('v1'));
    await Promise.all(
      ['a', 'b', 'c'].map((name) => people.create(name, { spec: { name: `${name} z` } }, 'v1')),
    );
    hook.reviews.length = 0;
    const list = await plane.get(people.collection('v2'));
    expect(list.body.items.map(({ spec }) => spec['first'])).toEqual(['a', 'b', 'c']);
    expect(hook.reviews).toHaveLength(1);
    expect(hook.reviews[0]?.request.objects).toHaveLength(3);
    await using watch = await plane.watch(
      `${people.collection('v2')}?watch=1&resourceVersion=${list.body.metadata.resourceVersion ?? ''}`,
    );
    await plane.patch(`${people.collection('v1')}/b`, { spec: { name: 'bb y' } });
    await plane.delete(`${people.collection('v1')}/c`);
    expect(await watch.next()).toMatchObject({
      type: 'MODIFIED',
      object: { spec: { first: 'bb', last: 'y' } },
    });
    expect(await watch.next()).toMatchObject({ type: 'DELETED', object: { spec: { first: 'c' } } });
    await using fresh = await plane.watch(`${people.collection('v2')}?watch=1`);
    expect(await fresh.take(2)).toEqual(['ADDED a', 'ADDED b']);
    const table = await plane.get(people.collection('v2'), {
      accept: `application/json;as=Table;g=meta.${plane.words.apiGroupDomain};v=v1;includeObject=Object`,
    });
    expect(table.body.rows.map(({ cells }) => cells[0])).toEqual(['a', 'b']);
  });

  test.each<readonly [string, ConversionWebhook['respond'], string]>([
    [
      'that fails',
      ({ apiVersion, kind, request: { uid } }) => ({
        apiVersion,
        kind,
        response: { uid, result: { status: 'Failure', message: 'no flour' }, convertedObjects: [] },
      }),
      'no flour',
    ],
    ['of another request', (review) => ({ ...review, response: { uid: 'other' } }), 'uid'],
    ['of fewer objects', converting(convertPerson), 'expected 1 converted objects, got 0'],
    [
      'of another name',
      converting((object) => ({ ...object, metadata: { ...object.metadata, name: 'x' } })),
      'metadata.name',
    ],
    ['that is no JSON', () => 'oops', 'not JSON'],
    ['with a bad status', () => 503, 'the server responded with status 503'],
  ])('a response %s is reported to the client', async (what, respond, message) => {
    await people.create('bad', { spec: { name: 'b d' } }, 'v1');
    const good = hook.respond;
    hook.respond =
      what === 'of fewer objects'
        ? (review) => {
            const { response, ...rest } = respond(review) as { readonly response: Json };
            return { ...rest, response: { ...response, convertedObjects: [] } };
          }
        : respond;
    const { status, body } = await plane.get(`${people.collection('v2')}/bad`);
    const listed = await plane.get(people.collection('v2'));
    const written = await people.create('worse', { spec: { first: 'w' } }, 'v2');
    hook.respond = good;
    expect(status).toBe(500);
    expect(body).toMatchObject({ kind: 'Status', reason: 'InternalError' });
    expect(body.message).toContain('conversion webhook for shop.example/v1, Kind=Person failed: ');
    expect(body.message).toContain(message);
    expect([listed.status, written.status]).toEqual([500, 500]);
    expect((await plane.get(`${people.collection('v1')}/worse`)).status).toBe(404);
    expect((await plane.get(`${people.collection('v1')}/bad`)).status).toBe(200);
  });

  test('labels and annotations are the only metadata that a webhook changes', async () => {
    const good = hook.respond;
    hook.respond = converting((object, apiVersion) => ({
      ...convertPerson(object, apiVersion),
      metadata: { ...object.metadata, labels: { l: 'new' }, annotations: { a: 'new' }, finalizers: ['x/y'] },
    }));
    const { body } = await plane.get(`${people.collection('v2')}/bad`);
    hook.respond = good;
    expect(body.metadata).toMatchObject({ labels: { l: 'new' }, annotations: { a: 'new' } });
    expect(body.metadata.finalizers).toBeUndefined();
  });

  test('a webhook whose certificate is of another authority is not believed', async () => {
    await using other = await startConversionWebhook(converting(convertPerson));
    const dogs = await define(plane, {
      plural: 'dogs',
      versions: personVersions,
      conversion: {
        strategy: 'Webhook',
        webhook: {
          clientConfig: { url: other.url, caBundle: hook.caBundle },
          conversionReviewVersions: ['v1'],
        },
      },
    });
    await dogs.create('rex', { spec: { name: 'Rex Dog' } }, 'v1');
    const refused = await plane.get(`${dogs.collection('v2')}/rex`);
    expect(refused.status).toBe(500);
    expect(refused.body.message).toContain('failed: ');
    expect(other.reviews).toHaveLength(0);
    await dogs.change([
      { op: 'replace', path: '/spec/conversion/webhook/clientConfig/caBundle', value: other.caBundle },
    ]);
    expect((await plane.get(`${dogs.collection('v2')}/rex`)).body.spec).toEqual({
      first: 'Rex',
      last: 'Dog',
    });
    // Objects that cannot be converted can still be deleted.
    other.respond = () => 500;
    await dogs.create('max', { spec: { name: 'Max Dog' } }, 'v1');
    expect((await plane.delete(`${dogs.collection('v2')}/max`)).body).toMatchObject({ status: 'Success' });
    expect((await plane.get(`${dogs.collection('v1')}/max`)).status).toBe(404);
    await plane.delete(dogs.path);
    await untilGone(plane, dogs.name);
    expect((await plane.get(dogs.collection('v1'))).status).toBe(404);
  });

  test('a webhook may be a service of the cluster', async () => {
    await using inside = await startConversionWebhook(converting(convertPerson), ['hook.default.svc']);
    // Its address is where another name leads: endpoints on loopback are none.
    await plane.post('/api/v1/namespaces/default/services', {
      metadata: { name: 'hook' },
      spec: { type: 'ExternalName', externalName: 'localhost' },
    });
    const cats = await define(plane, {
      plural: 'cats',
      versions: personVersions,
      conversion: {
        strategy: 'Webhook',
        webhook: {
          clientConfig: {
            service: { namespace: 'default', name: 'hook', path: '/here', port: inside.port },
            caBundle: inside.caBundle,
          },
          conversionReviewVersions: ['v1'],
        },
      },
    });
    await cats.create('tom', { spec: { name: 'Tom Cat' } }, 'v1');
    expect((await plane.get(`${cats.collection('v2')}/tom`)).body.spec).toEqual({
      first: 'Tom',
      last: 'Cat',
    });
    expect(inside.paths).toEqual(['/here?timeout=30s']);
    await plane.delete('/api/v1/namespaces/default/services/hook');
    const missing = await plane.get(`${cats.collection('v2')}/tom`);
    expect(missing.status).toBe(500);
    expect(missing.body.message).toContain('service/hook in "default" is not present');
  });
});
