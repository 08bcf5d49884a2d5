import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { VOCABULARIES, type VocabularyName } from '#api/vocabulary.ts';
import { requestFor, routeOf } from '../discovery/discovery.fixture.ts';
import type { ApiRequest, BytesResponse } from '../http/contract.ts';
import { createResourceRegistry, type ResourceRegistry } from '../resources/registry.ts';
import { at, builtin, CRON_TABS, described, type Json } from './openapi.fixture.ts';
import { createOpenApiRoutes } from './routes.ts';

interface Site {
  readonly registry: ResourceRegistry;
  get(path: string, headers?: ApiRequest['headers'], query?: string): Promise<BytesResponse>;
  /** Of each group version: its address. */
  index(): Promise<Readonly<Record<string, string>>>;
}

const whole = ({ body }: BytesResponse): Buffer => (Buffer.isBuffer(body) ? body : Buffer.concat(body));
const json = (response: BytesResponse): Json => {
  const value: unknown = JSON.parse(whole(response).toString());
  return at(value);
};

function createSite(name: VocabularyName = 'plat', product = 'test'): Site {
  const registry = createResourceRegistry(builtin(name));
  const routes = createOpenApiRoutes({ vocabulary: VOCABULARIES[name], registry, product });
  const get: Site['get'] = async (path, headers = {}, query = '') => {
    const response = await routeOf(routes, path).handler(requestFor(path, headers, query));
    if (response.kind !== 'bytes') throw new Error('no plain response');
    return response;
  };
  const index: Site['index'] = async () => {
    const paths = at(json(await get('/openapi/v3')), 'paths');
    return Object.fromEntries(
      Object.entries(paths).map(([path, value]) => [path, String(at(value)['serverRelativeURL'])]),
    );
  };
  return { registry, get, index };
}

const hashOf = (url: string | undefined): string => url?.split('?hash=')[1] ?? '';
const CUSTOM_PATH = 'apis/stable.example.com/v1';
const schema = { type: 'object', properties: { spec: { type: 'object' } } };
const ASKED_PROTOBUF = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf';

describe('/openapi/v2', () => {
  test.each([
    [undefined, 'application/json'],
    ['*/*', 'application/json'],
    ['application/json', 'application/json'],
    [ASKED_PROTOBUF, 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf'],
    ['application/json;q=0.1, application/com.github.proto-openapi.spec.v2.v1.0+protobuf', ASKED_PROTOBUF],
  ])('responds to %s with %s', async (accept, contentType) => {
    const response = await createSite().get('/openapi/v2', accept === undefined ? {} : { accept });
    expect([response.status, response.contentType]).toEqual([200, contentType.replace('@', '.')]);
    const isJson = whole(response).toString('latin1', 0, 1) === '{';
    expect(isJson).toBe(contentType === 'application/json');
  });

  test('refuses other types', async () => {
    await expect(createSite().get('/openapi/v2', { accept: 'text/html' })).rejects.toMatchObject({
      reason: 'NotAcceptable',
    });
  });

  test.each([
    ['gzip', true],
    ['deflate, gzip;q=0.5', true],
    ['*', true],
    ['gzip;q=0', false],
    ['br', false],
    [undefined, false],
  ])('with Accept-Encoding %s is compressed: %s', async (encoding, compressed) => {
    const headers = encoding === undefined ? {} : { 'accept-encoding': encoding };
    const response = await createSite().get('/openapi/v2', headers);
    expect(response.headers?.['Content-Encoding']).toBe(compressed ? 'gzip' : undefined);
    const bytes = compressed ? gunzipSync(whole(response)) : whole(response);
    expect(at(JSON.parse(bytes.toString()))['swagger']).toBe('2.0');
  });

  test('has an entity tag for each form, and responds with 304 to a client that has it', async () => {
    const site = createSite();
    const tags: string[] = [];
    for (const accept of ['application/json', ASKED_PROTOBUF]) {
      const { ETag: tag = '' } = (await site.get('/openapi/v2', { accept })).headers ?? {};
      expect(tag).toMatch(/^"[^"]+"$/);
      tags.push(tag);
      const again = await site.get('/openapi/v2', { accept, 'if-none-match': tag });
      expect([again.status, whole(again).length]).toEqual([304, 0]);
    }
    expect(new Set(tags).size).toBe(2);
  });

  test('is made once, however many ask at the same time', async () => {
    const site = createSite();
    const headers = { 'accept-encoding': 'gzip' };
    const [first, second] = await Promise.all([
      site.get('/openapi/v2', headers),
      site.get('/openapi/v2', headers),
    ]);
    const third = await site.get('/openapi/v2', headers);
    expect(first.body).toBe(second.body);
    expect(third.body).toBe(first.body);
  });

  test('changes as custom kinds come, change and go', async () => {
    const site = createSite();
    const look = async (): Promise<readonly [string, unknown]> => {
      const response = await site.get('/openapi/v2');
      const definitions = at(json(response), 'definitions');
      const { properties } = at(definitions, 'com.example.stable.v1.CronTab');
      return [response.headers?.['ETag'] ?? '', properties];
    };
    const [before, none] = await look();
    expect(none).toBeUndefined();
    site.registry.put(described(schema));
    const [with_, members] = await look();
    expect(members).toHaveProperty('spec');
    site.registry.put(described({ ...schema, properties: { other: { type: 'string' } } }));
    const [changed, others] = await look();
    expect(others).toHaveProperty('other');
    site.registry.remove(CRON_TABS.group, CRON_TABS.version, CRON_TABS.plural);
    const [after, gone] = await look();
    expect(gone).toBeUndefined();
    expect(after).toBe(before);
    expect(new Set([before, with_, changed]).size).toBe(3);
  });
});

describe('/openapi/v3', () => {
  test.each(['plat', 'kubernetes'] as const)(
    'names the document of every group version in %s words',
    async (name) => {
      const site = createSite(name);
      const wanted = new Set(
        builtin(name).map(({ info: { group, version } }) =>
          group === '' ? `api/${version}` : `apis/${group}/${version}`,
        ),
      );
      const index = await site.index();
      expect(Object.keys(index)).toEqual([...wanted].toSorted());
      for (const [path, url] of Object.entries(index)) {
        expect(url).toMatch(new RegExp(`^/openapi/v3/${path}\\?hash=[0-9a-f]{64}$`));
        const document = json(await site.get(`/openapi/v3/${path}`, {}, `hash=${hashOf(url)}`));
        expect(document['openapi']).toBe('3.0.0');
        for (const route of Object.keys(at(document, 'paths')))
          expect(route.startsWith(`/${path}/`)).toBe(true);
      }
    },
  );

  test('a document under its hash is kept for good, one without is asked for again', async () => {
    const site = createSite();
    const hash = hashOf((await site.index())['api/v1']);
    const kept = await site.get('/openapi/v3/api/v1', {}, `hash=${hash}`);
    expect(kept).toMatchObject({ status: 200, cacheControl: 'public, immutable' });
    expect(kept.headers).toMatchObject({ ETag: `"${hash}"`, Expires: 'Fri, 01 Jan 1971 00:00:00 GMT' });
    const plain = await site.get('/openapi/v3/api/v1');
    expect(plain.cacheControl).toBeUndefined();
    expect(plain.headers).not.toHaveProperty('Expires');
    const current = await site.get('/openapi/v3/api/v1', { 'if-none-match': `W/"${hash}"` });
    expect(current.status).toBe(304);
  });

  test('an outdated address leads to the current one', async () => {
    const site = createSite();
    const moved = await site.get('/openapi/v3/apis/apps/v1', {}, 'hash=0');
    expect(moved.status).toBe(301);
    expect(moved.headers?.['Location']).toBe((await site.index())['apis/apps/v1']);
  });

  test('a custom kind changes the document of its own group only', async () => {
    const site = createSite();
    const before = await site.index();
    site.registry.put(described(schema));
    const { [CUSTOM_PATH]: first, ...others } = await site.index();
    expect(others).toEqual(before);
    const document = json(await site.get(`/openapi/v3/${CUSTOM_PATH}`));
    expect(at(document, 'components', 'schemas')).toHaveProperty(['com.example.stable.v1.CronTab']);
    site.registry.put(described({ ...schema, description: 'Another.' }));
    expect((await site.index())[CUSTOM_PATH]).not.toBe(first);
    site.registry.remove(CRON_TABS.group, CRON_TABS.version, CRON_TABS.plural);
    await expect(site.get(`/openapi/v3/${CUSTOM_PATH}`)).rejects.toMatchObject({ reason: 'NotFound' });
  });

  test('another release of the program has other hashes', async () => {
    const [one, other] = await Promise.all([
      createSite('plat', 'a').index(),
      createSite('plat', 'b').index(),
    ]);
    expect(one['api/v1']).not.toBe(other['api/v1']);
  });

  test.each(['api', 'apis/apps', 'apis/apps/v2', 'constructor'])('has nothing at %s', async (path) => {
    await expect(createSite().get(`/openapi/v3/${path}`)).rejects.toMatchObject({ reason: 'NotFound' });
  });
});
