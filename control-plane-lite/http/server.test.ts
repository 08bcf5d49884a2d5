import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { gunzipSync, gzipSync } from 'node:zlib';
import { Agent, fetch, request } from 'undici';
import { afterAll, describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { type Logger, silentLogger } from '#api/kit/logger.ts';
import { StatusError } from '#api/meta/status-error.ts';
import { createTestAuthority } from './certificates.fixture.ts';
import type { ApiRequest, ApiResponse, Handler } from './contract.ts';
import { jsonResponse, startTestServer, type TestServer } from './server.fixture.ts';

const ca = createTestAuthority();
const certificate = ca.issue('localhost');
const agents = {
  http1: new Agent({ connect: { ca: ca.cert }, allowH2: false }),
  http2: new Agent({ connect: { ca: ca.cert }, allowH2: true }),
};
afterAll(() => Promise.all([agents.http1.close(), agents.http2.close()]));

const startTls = (given: Parameters<typeof startTestServer>[0] = {}): Promise<TestServer> =>
  startTestServer({ certificate, ...given });

async function readAll(readable: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of readable) chunks.push(chunk);
  return Buffer.concat(chunks);
}

describe.each(['http1', 'http2'] as const)('a request over %s', (protocol) => {
  const dispatcher = agents[protocol];
  const get = (server: TestServer, path: string, headers: Record<string, string> = {}) =>
    request(server.url + path, { dispatcher, headers });

  test('reaches its handler with its info, its user and its query', async () => {
    await using server = await startTls();
    const { statusCode, headers, body } = await get(server, '/api/v1/namespaces/n/pods?limit=5', {
      authorization: 'Bearer jane',
    });
    expect(statusCode).toBe(200);
    expect(await body.json()).toMatchObject({
      user: 'jane',
      query: 'limit=5',
      info: { verb: 'list', namespace: 'n', resource: 'pods' },
    });
    expect(headers).toMatchObject({
      'cache-control': 'no-cache, private',
      'content-type': 'application/json',
    });
    expect(headers['audit-id']).toMatch(/^[0-9a-f-]{36}$/);
  });

  test('retains a sound audit ID of the client and replaces any other', async () => {
    await using server = await startTls();
    const retained = await get(server, '/version', { 'audit-id': 'my-own.1' });
    const replaced = await get(server, '/version', { 'audit-id': 'a b' });
    expect(retained.headers['audit-id']).toBe('my-own.1');
    expect(replaced.headers['audit-id']).toMatch(/^[0-9a-f-]{36}$/);
    await Promise.all([retained.body.dump(), replaced.body.dump()]);
  });

  const failures: readonly (readonly [
    name: string,
    path: string,
    token: string,
    status: number,
    body: object,
  ])[] = [
    ['a bad token', '/api/v1/pods', 'bad', 401, { message: 'Unauthorized', reason: 'Unauthorized' }],
    [
      'a forbidden resource',
      '/api/v1/namespaces/default/pods',
      'forbidden',
      403,
      {
        message:
          'pods is forbidden: User "forbidden" cannot list resource "pods" in API group "" in the namespace "default"',
        reason: 'Forbidden',
        details: { kind: 'pods' },
      },
    ],
    [
      'a forbidden object',
      '/apis/apps/v1/things/a/status',
      'forbidden',
      403,
      {
        message:
          'things.apps "a" is forbidden: User "forbidden" cannot get resource "things/status" in API group "apps" at the cluster scope',
        details: { kind: 'things', group: 'apps', name: 'a' },
      },
    ],
    [
      'a forbidden path',
      '/metrics',
      'forbidden',
      403,
      { message: 'forbidden: User "forbidden" cannot get path "/metrics"' },
    ],
    ['a path with NUL', '/api/v1/pods%00', 'jane', 400, { reason: 'BadRequest' }],
    ['a bad timeout', '/api/v1/pods?timeout=x', 'jane', 400, { reason: 'BadRequest' }],
  ];
  test.each(failures)('of %s is refused with a Status', async (_name, path, token, code, expected) => {
    await using server = await startTls();
    const { statusCode, headers, body } = await get(server, path, { authorization: `Bearer ${token}` });
    expect(statusCode).toBe(code);
    expect(await body.json()).toMatchObject({
      apiVersion: 'v1',
      kind: 'Status',
      metadata: {},
      status: 'Failure',
      code,
      ...expected,
    });
    expect(headers['www-authenticate']).toBe(code === 401 ? 'Bearer' : undefined);
  });

  test('of a path that leads nowhere gets the plain text of the field', async () => {
    await using server = await startTls();
    const { statusCode, body } = await get(server, '/nowhere');
    expect([statusCode, await body.text()]).toEqual([404, '404 page not found\n']);
  });

  test('reports the allowed methods', async () => {
    await using server = await startTls();
    const wrong = await request(`${server.url}/version`, { dispatcher, method: 'DELETE' });
    const options = await request(`${server.url}/version`, { dispatcher, method: 'OPTIONS' });
    expect([wrong.statusCode, options.statusCode, options.headers['allow']]).toEqual([
      405,
      204,
      'GET, HEAD, OPTIONS',
    ]);
    await Promise.all([wrong.body.dump(), options.body.dump()]);
  });

  test('of HEAD gets the head alone', async () => {
    await using server = await startTls();
    const { statusCode, headers, body } = await request(`${server.url}/version`, {
      dispatcher,
      method: 'HEAD',
    });
    expect([statusCode, headers['content-length'], await body.text()]).toEqual([200, '14', '']);
  });

  test('shows only the audit ID of an internal error, and logs the rest', async () => {
    const logged: object[] = [];
    const log: Logger = { ...silentLogger, error: (fields) => void logged.push(fields) };
    const fieldError = new TypeError('secret detail');
    await using server = await startTls({
      log,
      resources: () => {
        throw fieldError;
      },
    });
    const { statusCode, headers, body } = await get(server, '/api/v1/pods');
    const text = await body.text();
    expect(statusCode).toBe(500);
    expect(text).not.toContain('secret');
    expect(text).toContain(String(headers['audit-id']));
    expect(logged).toMatchObject([{ auditID: headers['audit-id'], err: fieldError }]);
  });

  test('gets details and Retry-After of a StatusError, and warnings', async () => {
    await using server = await startTls({
      resources: (incoming) => {
        incoming.warn('old "thing"');
        incoming.warn('old "thing"');
        incoming.warn('naïve');
        throw new StatusError('TooManyRequests', 'later', { details: { retryAfterSeconds: 7 } });
      },
    });
    const { statusCode, headers, body } = await get(server, '/api/v1/pods');
    expect([statusCode, headers['retry-after']]).toEqual([429, '7']);
    const warning = Buffer.from(String(headers['warning']), 'latin1').toString('utf8');
    expect(warning).toBe('299 - "old \\"thing\\"", 299 - "naïve"');
    await body.dump();
  });

  test('is given up when its time is over', async () => {
    let aborted: Promise<unknown[]> | undefined;
    await using server = await startTls({
      resources: async ({ signal }) => {
        aborted = once(signal, 'abort');
        await aborted;
        throw signal.reason;
      },
    });
    const { statusCode, body } = await get(server, '/api/v1/pods?timeout=30ms');
    expect(statusCode).toBe(504);
    expect(await body.json()).toMatchObject({
      reason: 'Timeout',
      message: 'Timeout: request did not complete within the allotted timeout',
    });
    await aborted;
  });

  test('notifies its handler when the client leaves', async () => {
    const reached = Promise.withResolvers<ApiRequest>();
    const gone = Promise.withResolvers<string>();
    await using server = await startTls({
      resources: (incoming) => {
        incoming.signal.addEventListener('abort', () => gone.resolve(String(incoming.signal.reason)));
        reached.resolve(incoming);
        return new Promise<ApiResponse>(() => undefined);
      },
    });
    const leaving = new AbortController();
    const response = fetch(`${server.url}/api/v1/pods`, { dispatcher, signal: leaving.signal });
    await reached.promise;
    leaving.abort();
    await expect(response).rejects.toThrow(/abort/);
    expect(await gone.promise).toMatch(/closed the connection/);
  });

  const bodies: Handler = async (incoming) => jsonResponse({ size: (await incoming.readBody()).length });
  const post = (server: TestServer, body: Buffer, headers: Record<string, string> = {}) =>
    request(`${server.url}/api/v1/namespaces/n/pods`, { dispatcher, method: 'POST', body, headers });

  test('has its body read, also when it is compressed', async () => {
    await using server = await startTls({ resources: bodies });
    const plain = await post(server, Buffer.alloc(100_000, 'x'));
    const zipped = await post(server, gzipSync(Buffer.alloc(200_000, 'x')), { 'content-encoding': 'gzip' });
    expect([await plain.body.json(), await zipped.body.json()]).toEqual([
      { size: 100_000 },
      { size: 200_000 },
    ]);
  });

  test.each([
    ['too large', Buffer.alloc(70_000), {}, 413, 'Request entity too large: limit is 65536'],
    [
      'too large once inflated',
      gzipSync(Buffer.alloc(70_000)),
      { 'content-encoding': 'gzip' },
      413,
      'limit is 65536',
    ],
    ['no gzip though it says so', Buffer.from('hello'), { 'content-encoding': 'gzip' }, 400, 'gzip'],
    ['of an unknown encoding', Buffer.from('hello'), { 'content-encoding': 'br' }, 415, '"br"'],
  ])('is refused when its body is %s', async (_name, body, headers, code, message) => {
    await using server = await startTls({ resources: bodies, options: { bodyLimitBytes: 65_536 } });
    const { statusCode, body: response } = await post(server, body, headers);
    expect(statusCode).toBe(code);
    const text = await response.text();
    expect(text).toContain(`"code":${code}`);
    expect(text).toContain(JSON.stringify(message).slice(1, -1));
  });

  test('gets large responses whole, and compressed if it accepts that', async () => {
    const pieces = Array.from({ length: 3000 }, (_, index) => Buffer.from(`${index}`.padStart(100, '.')));
    await using server = await startTls({
      resources: () => ({ kind: 'bytes', status: 200, contentType: 'text/plain', body: pieces }),
    });
    const whole = Buffer.concat(pieces).toString();
    const plain = await get(server, '/api/v1/pods');
    expect(await plain.body.text()).toBe(whole);
    expect(plain.headers['content-encoding']).toBeUndefined();
    const zipped = await get(server, '/api/v1/pods', { 'accept-encoding': 'deflate, gzip;q=0.5' });
    expect(zipped.headers['content-encoding']).toBe('gzip');
    expect(gunzipSync(await readAll(zipped.body)).toString()).toBe(whole);
    const refused = await get(server, '/api/v1/pods', { 'accept-encoding': 'gzip;q=0' });
    expect(await refused.body.text()).toBe(whole);
  });

  test('gets compressed bodies unchanged, with the Cache-Control of the response', async () => {
    const whole = randomBytes(200_000);
    await using server = await startTls({
      resources: () => ({
        kind: 'bytes',
        status: 200,
        contentType: 'text/plain',
        cacheControl: 'public, immutable',
        headers: { 'Content-Encoding': 'gzip' },
        body: gzipSync(whole),
      }),
    });
    const { headers, body } = await get(server, '/api/v1/pods', { 'accept-encoding': 'gzip' });
    expect([headers['content-encoding'], headers['cache-control']]).toEqual(['gzip', 'public, immutable']);
    expect(gunzipSync(await readAll(body)).equals(whole)).toBe(true);
  });

  test('is cut off when its client reads nothing of a large response', async () => {
    const clock = createFakeClock();
    const block = Buffer.alloc(1024 * 1024, 'x');
    await using server = await startTls({
      deps: { clock },
      resources: () => ({
        kind: 'bytes',
        status: 200,
        contentType: 'text/plain',
        body: Array(64).fill(block),
      }),
    });
    const { body } = await get(server, '/api/v1/pods');
    await clock.advance(60_000);
    await expect(body.text()).rejects.toThrow(/closed|terminated|aborted|reset|stream|length/i);
    await server.server.close();
    expect(server.server.activeRequests).toBe(0);
  });

  test('is cut off when the shutdown is hurried, even while it is being drained', async () => {
    const clock = createFakeClock();
    const begun = Promise.withResolvers<void>();
    await using server = await startTls({
      deps: { clock },
      resources: () => {
        begun.resolve();
        return new Promise<ApiResponse>(() => undefined);
      },
    });
    const response = get(server, '/api/v1/pods').then(
      () => 'completed',
      () => 'cut off',
    );
    await begun.promise;
    const hurry = new AbortController();
    const closed = server.server.close({ drainMs: 60_000, hurry: hurry.signal });
    expect(server.server.activeRequests).toBe(1);
    hurry.abort();
    await closed;
    expect(server.server.activeRequests).toBe(0);
    expect(await response).toBe('cut off');
  });

  test('waits for a slot and is rejected when that takes too long', async () => {
    const clock = createFakeClock();
    const go = Promise.withResolvers<ApiResponse>();
    const first = Promise.withResolvers<void>();
    await using server = await startTls({
      deps: { clock },
      resources: () => {
        first.resolve();
        return go.promise;
      },
      options: { inFlight: { readOnly: 1, maxPerFlow: 1 } },
    });
    const running = get(server, '/api/v1/pods');
    await first.promise;
    const waiting = get(server, '/api/v1/pods');
    const refused = await Promise.race([waiting, get(server, '/api/v1/pods')]);
    expect([refused.statusCode, refused.headers['retry-after']]).toEqual([429, '1']);
    await refused.body.dump();
    go.resolve(jsonResponse({}));
    await Promise.all([running, waiting].map(async (each) => (await each).body.dump()));
  });
});
