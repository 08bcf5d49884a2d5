/** Content negotiation and encodings of objects. Document 1 §2.6 and 4.7. */
import { gunzipSync, gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, test } from 'vitest';
import { parse as parseYaml } from 'yaml';
import type { TypeMeta } from '#api/protobuf/envelope.ts';
import { samples, settled } from './kinds.ts';
import {
  APPLY,
  type Body,
  configMap,
  type Json,
  pod,
  usePlane,
  VOCABULARY_NAMES,
  workload,
} from './support.ts';

const isZero = (value: unknown): boolean =>
  value === 0 ||
  value === false ||
  value === '' ||
  (typeof value === 'object' && value !== null && Object.values(value).every(isZero));

/** Without zero values: protobuf distinguishes them from absent ones only where JSON omits them as well. */
function filled(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(filled);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).map(([name, member]) => [name, filled(member)] as const);
  return Object.fromEntries(members.filter(([, member]) => !isZero(member)));
}

describe('the form of a response', () => {
  const plane = usePlane();
  const { words } = plane;
  const PROTO = words.protobufContentType;
  const table = (version = 'v1'): string =>
    `application/json;as=Table;g=meta.${words.apiGroupDomain};v=${version}`;
  let path = '';
  beforeAll(async () => {
    path = `${await plane.namespace()}/configmaps`;
    await plane.post(path, configMap('a'));
  });

  test.each([
    ['', 'application/json'],
    ['*/*', 'application/json'],
    ['application/*', 'application/json'],
    ['application/json', 'application/json'],
    ['application/json;charset=utf-8', 'application/json'],
    ['application/yaml', 'application/yaml'],
    [PROTO, PROTO],
    [`${PROTO},application/json`, PROTO],
    [`application/json,${PROTO}`, 'application/json'],
    [`application/json;q=0.5,${PROTO};q=0.9`, PROTO],
    [`${PROTO};q=0.1, application/yaml;q=0.2, application/json;q=0.15`, 'application/yaml'],
    [`text/html, application/xhtml+xml, application/json;q=0.9, */*;q=0.8`, 'application/json'],
    ['text/plain, */*;q=0.1', 'application/json'],
    [`${table()},application/json`, 'application/json'],
  ])('Accept %j gets %s', async (accept, expected) => {
    const { status, headers } = await plane.get(`${path}/a`, { accept });
    expect({ status, type: headers['content-type'] }).toEqual({ status: 200, type: expected });
  });

  test.each([
    'text/html',
    'application/xml, text/*',
    'application/json;as=Chair;g=meta;v=v1',
    table('v2'),
    'application/json;q=0',
    `${PROTO};as=Table;g=meta.${words.apiGroupDomain};v=v1`,
  ])('Accept %j is not acceptable (406)', async (accept) => {
    const response = await plane.get(`${path}/a`, { accept });
    expect(response).toMatchObject({
      status: 406,
      body: { kind: 'Status', reason: 'NotAcceptable', code: 406 },
    });
    expect((await plane.get(path, { accept })).status).toBe(406);
    const write = await plane.call('POST', path, configMap('never'), { headers: { accept } });
    expect(write.status).toBe(406);
    expect((await plane.get(`${path}/never`)).status).toBe(404);
  });

  test.each(['text/plain', 'application/xml', 'application/x-www-form-urlencoded', 'multipart/form-data'])(
    'a body of type %s is not supported (415)',
    async (type) => {
      const response = await plane.post(path, configMap('b'), { type });
      expect(response).toMatchObject({ status: 415, body: { reason: 'UnsupportedMediaType', code: 415 } });
      expect((await plane.patch(`${path}/a`, {}, type)).status).toBe(415);
    },
  );

  test('a patch that is plain JSON is rejected with the supported types', async () => {
    const response = await plane.patch(`${path}/a`, {}, 'application/json');
    expect(response.status).toBe(415);
    expect(response.body.message).toContain(APPLY);
  });

  test('the media types of request and response are independent', async () => {
    const yaml = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: mixed}\ndata: {value: "1"}\n';
    const created = await plane.call('POST', path, yaml, {
      type: 'application/yaml',
      headers: { accept: PROTO },
    });
    expect(created.status).toBe(201);
    expect(plane.protobuf.decode(created.bytes)).toMatchObject({
      metadata: { name: 'mixed' },
      data: { value: '1' },
    });
    const bytes = plane.protobuf.encode({ ...configMap('mixed', '2'), apiVersion: 'v1', kind: 'ConfigMap' });
    const updated = await plane.call('PUT', `${path}/mixed`, bytes, {
      type: PROTO,
      headers: { accept: 'application/yaml' },
    });
    expect(parseYaml(updated.text)).toMatchObject({ kind: 'ConfigMap', data: { value: '2' } });
  });

  test('YAML goes both ways, lists and failures too', async () => {
    const accept = 'application/yaml';
    expect(parseYaml((await plane.get(`${path}?limit=1`, { accept })).text)).toMatchObject({
      kind: 'ConfigMapList',
      items: [{ data: { value: '1' } }],
    });
    const missing = await plane.get(`${path}/none`, { accept });
    expect(parseYaml(missing.text)).toMatchObject({ kind: 'Status', reason: 'NotFound', code: 404 });
    const bad = await plane.post(path, 'a: [1', { type: accept });
    expect(bad).toMatchObject({ status: 400, body: { reason: 'BadRequest' } });
  });

  test('failures are Status objects in the requested encoding', async () => {
    const missing = await plane.get(`${path}/none`, { accept: PROTO });
    expect(missing).toMatchObject({ status: 404, headers: { 'content-type': PROTO } });
    expect(plane.protobuf.decode(missing.bytes)).toMatchObject({
      kind: 'Status',
      apiVersion: 'v1',
      status: 'Failure',
      reason: 'NotFound',
      details: { name: 'none', kind: 'configmaps' },
    });
  });

  test('PartialObjectMetadata shows nothing but metadata, in JSON and protobuf, for an object and a list', async () => {
    const g = `g=meta.${words.apiGroupDomain}`;
    for (const version of ['v1', 'v1beta1']) {
      const apiVersion = `meta.${words.apiGroupDomain}/${version}`;
      const one = `as=PartialObjectMetadata;${g};v=${version}`;
      const many = `as=PartialObjectMetadataList;${g};v=${version}`;
      const object = await plane.get(`${path}/a`, { accept: `application/json;${one}` });
      expect(object.body).toMatchObject({
        kind: 'PartialObjectMetadata',
        apiVersion,
        metadata: { name: 'a' },
      });
      expect(object.body).not.toHaveProperty('data');
      const list = await plane.get(path, { accept: `application/json;${many}` });
      expect(list.body).toMatchObject({ kind: 'PartialObjectMetadataList', apiVersion });
      expect(list.body.metadata.resourceVersion).toMatch(/^\d+$/);
      expect(list.body.items[0]).toHaveProperty('metadata.uid');
      expect(list.body.items[0]).not.toHaveProperty('data');
      const wire = await plane.get(path, { accept: `${PROTO};${many}` });
      expect(plane.protobuf.decode(wire.bytes)).toMatchObject({
        kind: 'PartialObjectMetadataList',
        apiVersion,
      });
      expect((await plane.get(`${path}/a`, { accept: `application/json;${many}` })).status).toBe(406);
    }
  });

  test('large responses are compressed for clients that accept gzip, and request bodies may be compressed', async () => {
    const large = configMap('large', 'x'.repeat(300_000));
    const type = 'application/json';
    const created = await plane.call('POST', path, gzipSync(JSON.stringify(large)), {
      type,
      headers: { 'content-encoding': 'gzip' },
    });
    expect(created.status).toBe(201);
    const small = await plane.get(`${path}/a`, { 'accept-encoding': 'gzip' });
    expect(small.headers).not.toHaveProperty('content-encoding');
    const plain = await plane.get(`${path}/large`);
    expect(plain.headers).not.toHaveProperty('content-encoding');
    const packed = await plane.get(`${path}/large`, { 'accept-encoding': 'gzip' });
    expect(packed.headers['content-encoding']).toBe('gzip');
    expect(gunzipSync(packed.bytes).equals(plain.bytes)).toBe(true);
    const broken = await plane.call('POST', path, Buffer.from('no gzip'), {
      type,
      headers: { 'content-encoding': 'gzip' },
    });
    expect(broken.status).toBe(400);
  });
});

describe.each(VOCABULARY_NAMES)('protobuf in the %s vocabulary', (vocabulary) => {
  // With it the server itself writes the status of a new FlowSchema.
  const plane = usePlane(vocabulary, ['--enable-priority-and-fairness=false']);
  const PROTO = plane.words.protobufContentType;
  const wire = { type: PROTO, headers: { accept: PROTO } };

  test('a response begins with the four bytes and contains the whole object in its envelope', async () => {
    const ns = await plane.namespace();
    await plane.post(`${ns}/pods`, pod('web'));
    const { bytes, headers } = await plane.get(`${ns}/pods/web`, { accept: PROTO });
    expect(headers['content-type']).toBe(PROTO);
    expect([...bytes.subarray(0, 4)]).toEqual([0x6b, 0x38, 0x73, 0x00]);
    // Field 1: a message of apiVersion (1) and kind (2).
    expect([...bytes.subarray(4, 15)]).toEqual([
      0x0a,
      9,
      0x0a,
      2,
      ...Buffer.from('v1'),
      0x12,
      3,
      ...Buffer.from('Pod'),
    ]);
    expect(bytes[15]).toBe(0x12); // raw: field 2
  });

  test.each([
    ['another prefix', Buffer.from([0x6b, 0x38, 0x73, 0x01, 0])],
    ['no envelope', Buffer.from('{}')],
    ['an envelope that ends early', Buffer.from([0x6b, 0x38, 0x73, 0x00, 0x0a, 0x7f])],
  ])('%s is refused with 400', async (_, bytes) => {
    const response = await plane.call('POST', `${await plane.namespace()}/configmaps`, bytes, {
      type: PROTO,
    });
    expect(response).toMatchObject({ status: 400, body: { reason: 'BadRequest' } });
  });

  test.each(samples(plane.words))(
    '$id are created, shown, listed, changed and deleted as in JSON',
    async ({ path, object, apiVersion, kind }) => {
      const { name } = object.metadata;
      const one = `${path}/${name}`;
      const send = async (method: string, to: string, body: object): Promise<[number, object]> => {
        const response = await plane.call(method, to, plane.protobuf.encode(body as Json & TypeMeta), wire);
        return [response.status, plane.protobuf.decode(response.bytes)];
      };
      const [status, created] = await send('POST', path, object);
      expect({ status, created }).toMatchObject({ status: 201, created: { kind, apiVersion } });
      const json = await settled(plane, one, kind);
      const shown = plane.protobuf.decode((await plane.get(one, { accept: PROTO })).bytes);
      expect(filled(shown)).toEqual(filled(json));
      const { bytes } = await plane.get(`${path}?fieldSelector=metadata.name%3D${name}`, { accept: PROTO });
      const list = plane.protobuf.decode(bytes) as Json & Body;
      expect(list).toMatchObject({ kind: `${kind}List`, apiVersion });
      expect(list.items.map((item) => filled({ ...item, kind, apiVersion }))).toEqual([filled(json)]);
      expect(await send('PUT', one, json)).toMatchObject([200, {}]);
      const options = { kind: 'DeleteOptions', apiVersion: 'v1', gracePeriodSeconds: 0 };
      expect(await send('DELETE', one, options)).toMatchObject([200, {}]);
    },
  );

  test('so are virtual kinds, and subresources', async () => {
    const ns = await plane.namespace();
    const { words } = plane;
    const send = async (method: string, to: string, body?: object): Promise<[number, Json]> => {
      const content = body === undefined ? undefined : plane.protobuf.encode(body as Json & TypeMeta);
      const response = await plane.call(method, to, content, wire);
      return [response.status, plane.protobuf.decode(response.bytes)];
    };
    await plane.post(`${ns}/pods`, pod('web'));
    const target = { kind: 'Node', name: 'n1' };
    const binding = { apiVersion: 'v1', kind: 'Binding', metadata: { name: 'web' }, target };
    expect(await send('POST', `${ns}/pods/web/binding`, binding)).toMatchObject([
      201,
      { kind: 'Status', status: 'Success' },
    ]);
    const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'web' } };
    expect(await send('POST', `${ns}/pods/web/eviction?dryRun=All`, eviction)).toMatchObject([
      201,
      { kind: 'Status' },
    ]);
    const apps = ns.replace('/api/v1', '/apis/apps/v1');
    await plane.post(`${apps}/deployments`, workload('Deployment', 'web'));
    const [, scale] = await send('GET', `${apps}/deployments/web/scale`);
    expect(scale).toMatchObject({
      kind: 'Scale',
      apiVersion: 'autoscaling/v1',
      spec: { replicas: 1 },
      status: { selector: 'app=web' },
    });
    const scaled = await send('PUT', `${apps}/deployments/web/scale`, { ...scale, spec: { replicas: 3 } });
    expect(scaled).toMatchObject([200, { kind: 'Scale', spec: { replicas: 3 } }]);
    const apiVersion = `authorization.${words.apiGroupDomain}/v1`;
    const review = {
      apiVersion,
      kind: 'SelfSubjectAccessReview',
      spec: { nonResourceAttributes: { path: '/x', verb: 'get' } },
    };
    expect(await send('POST', `/apis/${apiVersion}/selfsubjectaccessreviews`, review)).toMatchObject([
      201,
      { kind: 'SelfSubjectAccessReview', apiVersion, status: { allowed: true } },
    ]);
    expect(await send('GET', `${ns}/pods/none`)).toMatchObject([404, { kind: 'Status', reason: 'NotFound' }]);
    expect(await send('DELETE', `${ns}/pods`)).toMatchObject([200, { kind: 'Status', status: 'Success' }]);
  });
});
