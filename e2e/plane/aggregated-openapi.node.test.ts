/** Aggregation of the OpenAPI documents of extension servers, robust against invalid ones. Source: upstream's
 *  OpenAPI aggregator, release 1.24. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { eventually } from '../../testing/wait.ts';
import { aggregate, BASE, type Extension, GROUP, NAME } from './extension-server.ts';
import { type Body, type Json, usePlane, WAIT } from './support.ts';

const plane = usePlane('kubernetes');
let extension: Extension;
beforeAll(async () => {
  extension = await aggregate(plane);
  // Its availability is found before its documents are requested; the tests do not wait for that.
  await eventually(() => extension.requested.length >= DOCUMENTS);
});
afterAll(() => extension[Symbol.asyncDispose]());

interface Document {
  readonly paths: Json;
  readonly definitions: Readonly<Record<string, Json>>;
}
const read = async (path: string): Promise<Document> => (await plane.get(path)).body as unknown as Document;
const document2 = (): Promise<Document> => read('/openapi/v2');
const ours = async (): Promise<Json> =>
  Object.fromEntries(Object.entries((await document2()).paths).filter(([path]) => !path.startsWith(BASE)));

/** Number of documents that each poll requests. */
const DOCUMENTS = 2;

let priority = 10;
/** Triggers another check of the extension server. */
async function change(): Promise<void> {
  priority += 1;
  await plane.patch(plane.path('apiregistration/v1', `apiservices/${NAME}`), {
    spec: { versionPriority: priority },
  });
}
async function look(): Promise<void> {
  const before = extension.requested.length;
  await change();
  await expect.poll(() => extension.requested.length, WAIT).toBeGreaterThanOrEqual(before + DOCUMENTS);
}

const widgetPath = `${BASE}/widgets`;
const describe2 = (description: string, definitions: Json = {}): string =>
  JSON.stringify({
    swagger: '2.0',
    paths: {
      [widgetPath]: {
        get: { description, responses: { 200: { description: 'OK', schema: { $ref: '#/definitions/W' } } } },
      },
      '/api/v1/pods': { get: { description: 'stolen' } },
    },
    definitions: { W: { description: 'A widget.', type: 'object' }, ...definitions },
  });

beforeEach(() => {
  extension.documents.clear();
});

test('paths of an extension and what they need are in ours, and everything of ours is as it was', async () => {
  const before = await ours();
  extension.documents.set('/openapi/v2', { body: describe2('first'), etag: '"1"' });
  await look();
  await expect
    .poll(async () => (await document2()).paths[widgetPath], WAIT)
    .toMatchObject({ get: { description: 'first' } });
  expect((await document2()).definitions['W']).toEqual({ description: 'A widget.', type: 'object' });
  expect(await ours()).toEqual(before);
  const protobuf = await plane.get('/openapi/v2', {
    accept: 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf',
  });
  expect(protobuf.bytes.includes(Buffer.from('A widget.'))).toBe(true);
});

test('a document is requested with its ETag, and a new version is published under another ETag', async () => {
  extension.documents.set('/openapi/v2', { body: describe2('second'), etag: '"2"' });
  await look();
  await expect
    .poll(async () => (await document2()).paths[widgetPath], WAIT)
    .toMatchObject({ get: { description: 'second' } });
  const { headers } = await plane.get('/openapi/v2');
  await look();
  expect(extension.requested).toContain('/openapi/v2 "2"');
  const same = await plane.get('/openapi/v2', { 'if-none-match': String(headers['etag']) });
  expect(same.status).toBe(304);
  extension.documents.set('/openapi/v2', { body: describe2('third'), etag: '"3"' });
  await look();
  const etag = async (): Promise<unknown> => (await plane.get('/openapi/v2')).headers['etag'];
  await expect.poll(etag, WAIT).not.toBe(headers['etag']);
});

test.each([
  ['is no JSON', '{', 'good'],
  ['is too large', JSON.stringify({ swagger: '2.0', paths: {}, x: 'x'.repeat(1024 * 1024) }), 'good'],
  ['says nothing', '[]', undefined],
  ['refers to nothing', describe2('bad', { W: { $ref: '#/definitions/Gone' } }), undefined],
])('a document that %s does not affect others', async (_, body, left) => {
  extension.documents.set('/openapi/v2', { body: describe2('good'), etag: '"g"' });
  await look();
  const description = async (): Promise<unknown> => {
    const item = (await document2()).paths[widgetPath] as { get: Json } | undefined;
    return item?.get['description'];
  };
  await expect.poll(description, WAIT).toBe('good');
  const before = await ours();
  extension.documents.set('/openapi/v2', { body });
  await look();
  // An unreadable document leaves the previous one; a readable document without definitions removes it.
  await expect.poll(description, WAIT).toBe(left);
  expect(await ours()).toEqual(before);
});

test('a change of the document of an extension during a request for it is published as well', async () => {
  const held = Promise.withResolvers<void>();
  extension.documents.set('/openapi/v2', { body: describe2('early'), until: held.promise });
  await look();
  extension.documents.set('/openapi/v2', { body: describe2('late') });
  const { looks } = extension;
  await change();
  await expect.poll(() => extension.looks, WAIT).toBeGreaterThan(looks);
  await document2();
  held.resolve();
  await expect
    .poll(async () => (await document2()).paths[widgetPath], WAIT)
    .toMatchObject({ get: { description: 'late' } });
});

test('documents of OpenAPI 3 are in the index, and passed on', async () => {
  const at = `apis/${GROUP}/v1`;
  const url = `/openapi/v3/${at}?hash=ABC`;
  const index = async (): Promise<Record<string, { serverRelativeURL: string }>> =>
    (await read('/openapi/v3')).paths as Record<string, { serverRelativeURL: string }>;
  const before = Object.keys(await index());
  const third = { openapi: '3.0.0', info: { title: 'x', version: '1' }, paths: { [widgetPath]: {} } };
  extension.documents.set('/openapi/v3', {
    body: JSON.stringify({ paths: { [at]: { serverRelativeURL: url } } }),
  });
  extension.documents.set(url, { body: JSON.stringify(third) });
  await look();
  await expect.poll(async () => Object.keys(await index()), WAIT).toEqual([...before, at].toSorted());
  const address = (await index())[at]?.serverRelativeURL ?? '';
  expect(address).toMatch(new RegExp(`^/openapi/v3/${at}\\?hash=[0-9a-f]{64}$`));
  const found = await plane.get(address);
  expect([found.status, found.body as unknown]).toEqual([200, third]);
  expect((await plane.get('/openapi/v3/apis/apps/v1')).status).toBe(200);
  // Another state, of which the server says more than it has.
  const gone = `/openapi/v3/${at}?hash=DEF`;
  extension.documents.set('/openapi/v3', {
    body: JSON.stringify({ paths: { [at]: { serverRelativeURL: gone } } }),
  });
  await look();
  await expect.poll(async () => (await index())[at]?.serverRelativeURL, WAIT).not.toBe(address);
  const missing = await plane.get(`/openapi/v3/${at}`);
  expect([missing.status, (missing.body as Body & { reason: string }).reason]).toEqual([
    503,
    'ServiceUnavailable',
  ]);
});

test('the documents of an extension are removed with its APIService', async () => {
  extension.documents.set('/openapi/v2', { body: describe2('last') });
  await look();
  const path = async (): Promise<unknown> => (await document2()).paths[widgetPath];
  await expect.poll(path, WAIT).toMatchObject({ get: { description: 'last' } });
  await plane.delete(plane.path('apiregistration/v1', `apiservices/${NAME}`));
  await expect.poll(path, WAIT).toBeUndefined();
});
