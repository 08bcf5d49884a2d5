import { once } from 'node:events';
import { connect as connectHttp2, constants } from 'node:http2';
import { connect as connectTcp, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectTls, DEFAULT_CIPHERS, type TLSSocket } from 'node:tls';
import { request } from 'undici';
import { describe, expect, test } from 'vitest';
import { negotiatedSuites } from '../../../testing/negotiated-suites.ts';
import { createTempDir } from '../../../testing/temp.ts';
import { eventually } from '../../../testing/wait.ts';
import { createTestAuthority } from '../certificates.fixture.ts';
import type { ApiResponse, StreamSink } from '../contract.ts';
import { closed, firstOf } from '../events.fixture.ts';
import { jsonResponse, startTestServer, type TestServer } from '../server.fixture.ts';
import { createListener } from './listener.ts';

const ca = createTestAuthority();
const certificate = ca.issue('localhost');

async function open(
  server: TestServer,
  { localAddress, ...options }: ConnectionOptions & { readonly localAddress?: string } = {},
): Promise<TLSSocket> {
  const from = localAddress === undefined ? {} : { localAddress };
  const below = connectTcp({ port: server.port, host: '127.0.0.1', ...from });
  const socket = connectTls({ socket: below, host: '127.0.0.1', ca: ca.cert, ...options });
  socket.on('error', () => undefined);
  await once(socket, 'secureConnect');
  return socket;
}

/** Returns all data until the connection ends. */
async function readToEnd(socket: Socket): Promise<string> {
  let text = '';
  socket.on('data', (chunk) => (text += String(chunk)));
  if (!socket.closed) await closed(socket);
  return text;
}

/** Reads until this text has arrived. */
function readUntil(socket: Socket, part: string): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    socket.on('data', function onData(chunk) {
      text += String(chunk);
      if (!text.includes(part)) return;
      socket.off('data', onData);
      resolve(text);
    });
  });
}

/** Time to wait for things that must not happen, in ms. */
async function readTurns(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

describe('createListener', () => {
  test.each(['http/1.1', 'h2'])(
    'passes client certificates and their chain on, over %s',
    async (protocol) => {
      const middle = ca.issue('middle', { ca: true });
      const client = middle.issue('jane');
      await using server = await startTestServer({ certificate });
      const socket = await open(server, {
        cert: client.cert + middle.cert,
        key: client.key,
        ALPNProtocols: [protocol],
      });
      if (protocol === 'h2') {
        const session = connectHttp2(server.url, { createConnection: () => socket });
        const stream = session.request({ ':path': '/version' });
        await once(stream, 'response');
        session.destroy();
      } else {
        socket.write('GET /version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
        await readToEnd(socket);
      }
      const [authentication] = server.authentications;
      expect(authentication?.certificate?.subject).toBe('CN=jane');
      expect(authentication?.intermediates.map(({ subject }) => subject)).toEqual(['CN=middle']);
    },
  );

  test('gives every request of a connection the same certificate', async () => {
    const client = ca.issue('jane');
    await using server = await startTestServer({ certificate });
    const socket = await open(server, { cert: client.cert, key: client.key });
    socket.write('GET /version HTTP/1.1\r\nHost: x\r\n\r\n');
    await readUntil(socket, '24');
    socket.write('GET /version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    await readToEnd(socket);
    expect(server.authentications).toHaveLength(2);
    expect(server.authentications[0]?.certificate).toBe(server.authentications[1]?.certificate);
  });

  test('knows no certificate of clients without one', async () => {
    await using server = await startTestServer({ certificate });
    const socket = await open(server);
    socket.write('GET /version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    await readToEnd(socket);
    expect(server.authentications[0]).toMatchObject({ intermediates: [] });
    expect(server.authentications[0]?.certificate).toBeUndefined();
  });

  test('serves new connections with a new certificate', async () => {
    await using server = await startTestServer({ certificate });
    const before = await open(server);
    server.server.setCertificate(ca.issue('renewed'));
    const client = ca.issue('jane');
    const after = await open(server, {
      checkServerIdentity: () => undefined,
      cert: client.cert,
      key: client.key,
    });
    after.write('GET /version HTTP/1.1\r\nHost: x\r\n\r\n');
    await readUntil(after, '}');
    expect(server.authentications[0]?.certificate?.subject).toBe('CN=jane');
    expect(before.getPeerCertificate().subject.CN).toBe('localhost');
    expect(after.getPeerCertificate().subject.CN).toBe('renewed');
    before.destroy();
    after.destroy();
  });

  test('rejects a certificate whose key does not fit, and retains the old one', async () => {
    await using server = await startTestServer({ certificate });
    const other = ca.issue('other');
    expect(() => server.server.setCertificate({ cert: other.cert, key: certificate.key })).toThrow(/key/i);
    const socket = await open(server);
    expect(socket.getPeerCertificate().subject.CN).toBe('localhost');
    socket.destroy();
  });

  test.each([
    ['the cheapest of the strong ones', undefined, 'TLS_AES_128_GCM_SHA256'],
    ['what the client takes', 'TLS_CHACHA20_POLY1305_SHA256', 'TLS_CHACHA20_POLY1305_SHA256'],
  ])('encrypts with %s', async (_name, ciphers, used) => {
    await using server = await startTestServer({ certificate });
    const only = ciphers === undefined ? {} : { ciphers };
    const socket = connectTls({ port: server.port, host: '127.0.0.1', ca: ca.cert, ...only });
    await firstOf(socket, 'secureConnect');
    expect(socket.getCipher().name).toBe(used);
    socket.destroy();
  });

  test('encrypts with suites only that authenticate, whose keys are of no use afterwards', async () => {
    await using server = await startTestServer({ certificate });
    expect(await negotiatedSuites(server.port)).toEqual([
      'ECDHE-RSA-AES128-GCM-SHA256',
      'ECDHE-RSA-AES256-GCM-SHA384',
      'ECDHE-RSA-CHACHA20-POLY1305',
      'TLS_AES_128_GCM_SHA256',
      'TLS_AES_256_GCM_SHA384',
      'TLS_CHACHA20_POLY1305_SHA256',
    ]);
    // Others would have been found.
    await using loose = await startTestServer({ certificate, options: { ciphers: DEFAULT_CIPHERS } });
    expect(await negotiatedSuites(loose.port)).toContain('ECDHE-RSA-AES128-SHA');
  });

  test('speaks no TLS older than 1.2', async () => {
    await using server = await startTestServer({ certificate });
    const socket = connectTls({
      port: server.port,
      host: '127.0.0.1',
      ca: ca.cert,
      minVersion: 'TLSv1',
      maxVersion: 'TLSv1.1',
      ciphers: 'DEFAULT@SECLEVEL=0',
    });
    const error = await firstOf(socket, 'error');
    expect(String(error)).toMatch(/protocol|alert/i);
  });

  test('requests a body only when it is wanted', async () => {
    await using server = await startTestServer({
      certificate,
      resources: async (incoming) => {
        if (incoming.info.name !== 'wanted') return jsonResponse({ refused: true }, 403);
        return jsonResponse({ size: (await incoming.readBody()).length });
      },
    });
    const head = 'Host: x\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n';
    const wanted = await open(server);
    wanted.write(`PUT /api/v1/nodes/wanted HTTP/1.1\r\n${head}`);
    expect(await readUntil(wanted, '\r\n\r\n')).toBe('HTTP/1.1 100 Continue\r\n\r\n');
    wanted.write('hello');
    expect(await readUntil(wanted, '}')).toContain('{"size":5}');
    wanted.destroy();
    const refused = await open(server);
    refused.write(`PUT /api/v1/nodes/refused HTTP/1.1\r\n${head}`);
    const response = await readToEnd(refused);
    expect(response).toMatch(/^HTTP\/1\.1 403 /);
    expect(response).toMatch(/connection: close/i);
    expect(response).not.toContain('100');
  });

  test.each([
    ['has no end', 'X: '.padEnd(70_000, 'x'), '431'],
    ['is no HTTP', '\u0001\u0002\r\n\r\n', '400'],
  ])('refuses a head that %s', async (_name, text, code) => {
    await using server = await startTestServer({ certificate });
    const socket = await open(server);
    socket.write(code === '431' ? `GET / HTTP/1.1\r\n${text}` : text);
    expect(await readToEnd(socket)).toMatch(new RegExp(`^HTTP/1.1 ${code} `));
  });

  test.each([
    ['is too long', `POST / HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(100_000)}`, '431'],
    ['is malformed', 'POST / HTTP/1.1\r\nHost: x\r\nno colon', '400'],
  ])('responds to a head that %s, whatever body follows', async (_name, head, code) => {
    await using server = await startTestServer({ certificate });
    const socket = await open(server);
    const errors: Error[] = [];
    socket.on('error', (error) => errors.push(error));
    const response = readUntil(socket, '\r\n\r\n');
    socket.write(`${head}\r\nContent-Length: 4000000\r\n\r\n`);
    const isSent = new Promise<void>((resolve) => socket.write(Buffer.alloc(4_000_000), () => resolve()));
    expect(await response).toMatch(new RegExp(`^HTTP/1.1 ${code} `));
    await isSent;
    expect(errors).toEqual([]);
    socket.end();
    await closed(socket);
  });

  test.each([
    ['is coded in an unknown way', 'Transfer-Encoding: gzip\r\n\r\n'],
    ['has a faulty part', 'Transfer-Encoding: chunked\r\n\r\n5\r\nhelloXX'],
  ])('sends one response to a request whose body %s', async (_name, rest) => {
    await using server = await startTestServer({ certificate });
    const socket = await open(server);
    socket.write(`GET /version HTTP/1.1\r\nHost: x\r\n${rest}`);
    expect((await readToEnd(socket)).match(/HTTP\/1\.1 /g)).toHaveLength(1);
  });

  test('ends a connection that takes too long with its head', async () => {
    // The handshake before it has the same limit.
    await using server = await startTestServer({ certificate, options: { headTimeoutMs: 1000 } });
    const socket = await open(server);
    socket.write('GET /version HTTP/1.1\r\nHost:');
    expect(await readToEnd(socket)).toMatch(/^HTTP\/1\.1 408 /);
  });

  test('ends a connection that takes too long with its handshake, or is idle', async () => {
    await using server = await startTestServer({
      certificate,
      options: { headTimeoutMs: 100, idleTimeoutMs: 50 },
    });
    const silent = connectTcp(server.port, '127.0.0.1');
    silent.on('error', () => undefined);
    const idle = connectHttp2(server.url, { ca: ca.cert });
    idle.on('error', () => undefined);
    await Promise.all([closed(silent), closed(idle)]);
    expect([silent.destroyed, idle.destroyed]).toEqual([true, true]);
  });

  test('takes no more connections than allowed', async () => {
    await using server = await startTestServer({ certificate, options: { maxConnections: 1 } });
    const first = await open(server);
    first.write('GET /version HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer jane\r\n\r\n');
    await readUntil(first, '24');
    const second = connectTcp(server.port, '127.0.0.1');
    second.on('error', () => undefined);
    await closed(second);
    expect(first.destroyed).toBe(false);
    first.destroy();
  });

  /** Opens idle connections from this address. */
  async function connectIdle(
    server: TestServer,
    localAddress: string,
    count: number,
  ): Promise<readonly Socket[]> {
    const sockets: Socket[] = [];
    while (sockets.length < count) {
      const socket = connectTcp({ port: server.port, host: '127.0.0.1', localAddress });
      socket.on('error', () => undefined);
      await once(socket, 'connect');
      sockets.push(socket.resume());
    }
    return sockets;
  }

  const countOpen = (sockets: readonly Socket[]): number => sockets.filter((socket) => !socket.closed).length;

  test.each([
    ['the same address', '127.0.0.1', 'http/1.1'],
    ['another address', '127.0.0.3', 'http/1.1'],
    ['the same address', '127.0.0.1', 'h2'],
  ])(
    'has room for who shows who it is, at %s (%s) as idle ones, over %s',
    async (_name, localAddress, alpn) => {
      await using server = await startTestServer({ certificate, options: { maxConnections: 16 } });
      const sockets = [
        ...(await connectIdle(server, '127.0.0.1', 24)),
        ...(await connectIdle(server, '127.0.0.2', 12)),
      ];
      const send = async (socket: TLSSocket): Promise<unknown> => {
        if (alpn === 'h2') {
          const session = connectHttp2(server.url, { createConnection: () => socket });
          const stream = session.request({ ':path': '/version', authorization: 'Bearer jane' });
          return firstOf(stream.resume(), 'response');
        }
        socket.write('GET /version HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer jane\r\n\r\n');
        return readUntil(socket, '24');
      };
      const served: TLSSocket[] = [];
      // Each stays open, even when others come after it.
      for (let count = 0; count < 6; count += 1) {
        const socket = await open(server, { localAddress, ALPNProtocols: [alpn] });
        served.push(socket);
        await send(socket);
        sockets.push(...(await connectIdle(server, '127.0.0.1', 8)));
      }
      expect(served.every((socket) => !socket.destroyed)).toBe(true);
      await eventually(() => countOpen(sockets) <= 10);
      for (const socket of [...sockets, ...served]) socket.destroy();
    },
  );

  test('gives no address all connections', async () => {
    await using server = await startTestServer({
      certificate,
      options: { maxConnections: 16, maxConnectionsPerAddress: 4 },
    });
    const sockets = await connectIdle(server, '127.0.0.2', 10);
    await eventually(() => countOpen(sockets) === 4);
    // The newest stay open.
    expect(sockets.map((socket) => socket.closed)).toEqual(sockets.map((_, at) => at < 6));
    const others = await connectIdle(server, '127.0.0.3', 4);
    expect([countOpen(sockets), countOpen(others)]).toEqual([4, 4]);
    for (const socket of [...sockets, ...others]) socket.destroy();
  });

  test.each(['http/1.1', 'h2'])('ends idle connections of %s that have to leave, whole', async (alpn) => {
    await using server = await startTestServer({
      certificate,
      options: { maxConnections: 4, maxConnectionsPerAddress: 2 },
    });
    const idle: TLSSocket[] = [];
    for (let count = 0; count < 6; count += 1) {
      const socket = await open(server, { ALPNProtocols: [alpn] });
      idle.push(socket);
      if (alpn !== 'h2') continue;
      const session = connectHttp2(server.url, { createConnection: () => socket });
      session.on('error', () => undefined);
      await once(session, 'remoteSettings');
    }
    await eventually(() => countOpen(idle) === 2);
    expect(idle.map((socket) => socket.closed)).toEqual([true, true, true, true, false, false]);
    await server.server.close({ drainMs: 1000 });
  });

  test('works on requests of a connection of HTTP/1.1 one after the other', async () => {
    const waiting: ((response: ApiResponse) => void)[] = [];
    await using server = await startTestServer({
      certificate,
      resources: () => new Promise((resolve) => void waiting.push(resolve)),
    });
    const requestFor = (name: string): string => `GET /api/v1/nodes/${name} HTTP/1.1\r\nHost: x\r\n\r\n`;
    const socket = await open(server);
    socket.write(requestFor('first') + requestFor('second') + requestFor('third'));
    await eventually(() => waiting.length === 1);
    await readTurns();
    expect([waiting.length, server.server.activeRequests]).toEqual([1, 1]);
    waiting[0]?.(jsonResponse('first'));
    await readUntil(socket, 'first');
    await eventually(() => waiting.length === 2);
    // The third is never started, and nothing of the second remains.
    socket.destroy();
    await eventually(() => server.server.activeRequests === 0);
    await readTurns();
    expect(waiting).toHaveLength(2);
  });

  test('lets as many wait as there may be streams, and no other protocol', async () => {
    await using server = await startTestServer({
      certificate,
      options: { maxStreams: 10 },
      resources: () => new Promise(() => undefined),
    });
    const oneRequest = 'GET /api/v1/nodes/a HTTP/1.1\r\nHost: x\r\n\r\n';
    const patient = await open(server);
    patient.write(oneRequest.repeat(11));
    const greedy = await open(server);
    greedy.write(oneRequest.repeat(12));
    const changing = await open(server);
    changing.write(
      `${oneRequest}GET /x HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
    );
    expect([await readToEnd(greedy), await readToEnd(changing)]).toEqual(['', '']);
    expect(patient.closed).toBe(false);
    patient.destroy();
  });

  test('limits the streams of a connection', async () => {
    await using server = await startTestServer({ certificate, options: { maxStreams: 7 } });
    const session = connectHttp2(server.url, { ca: ca.cert });
    const settings = await firstOf(session, 'remoteSettings');
    expect(settings).toMatchObject({ maxConcurrentStreams: 7 });
    session.destroy();
  });

  test('ends a connection whose client opens streams only to reset them', async () => {
    await using server = await startTestServer({ certificate });
    const session = connectHttp2(server.url, { ca: ca.cert });
    session.on('error', () => undefined);
    await once(session, 'remoteSettings');
    for (let round = 0; round < 60 && !session.destroyed; round += 1) {
      for (let index = 0; index < 100 && !session.destroyed; index += 1) {
        const stream = session.request({ ':path': '/version' });
        stream.on('error', () => undefined);
        stream.close(constants.NGHTTP2_CANCEL);
      }
      await new Promise((resolve) => setImmediate(resolve));
    }
    if (!session.destroyed) await closed(session);
    expect(session.destroyed).toBe(true);
  });

  test('ignores an offer to upgrade to an unknown protocol', async () => {
    await using server = await startTestServer({ certificate });
    const socket = await open(server);
    socket.write('GET /version HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n');
    expect(await readUntil(socket, '}')).toMatch(/^HTTP\/1\.1 200 /);
    socket.destroy();
  });

  test('listens without TLS on no address but the own', async () => {
    const listener = createListener({ serve: () => undefined }, {});
    await expect(listener.listen({ host: '0.0.0.0', port: 0 })).rejects.toThrow(/without TLS/);
    expect(await listener.listen({ host: '127.0.0.1', port: 0 })).toBeGreaterThan(0);
    await listener.drain();
  });

  test('serves plain HTTP on a unix socket', async () => {
    await using dir = await createTempDir();
    const path = `${dir.path}/s`;
    const listener = createListener(
      {
        serve(exchange) {
          exchange.writeHead(200, ['Content-Type', 'text/plain']);
          exchange.end(Buffer.from(`to ${exchange.connection.remoteAddress}`));
        },
      },
      {},
    );
    expect(await listener.listen({ socketPath: path })).toBe(0);
    const socket = connectTcp(path);
    socket.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    expect(await readToEnd(socket)).toMatch(/^HTTP\/1\.1 200 /);
    await listener.drain();
  });
});

describe('closing', () => {
  test('completes requests in flight, signals clients to disconnect, and accepts no new connections', async () => {
    const go = Promise.withResolvers<ApiResponse>();
    const reached = Promise.withResolvers<void>();
    await using server = await startTestServer({
      certificate,
      resources: () => {
        reached.resolve();
        return go.promise;
      },
    });
    const busy = await open(server);
    const idle = await open(server);
    busy.write('GET /api/v1/pods HTTP/1.1\r\nHost: x\r\n\r\n');
    await reached.promise;
    const ended = server.server.close();
    await closed(idle);
    await expect(request(`${server.url}/version`)).rejects.toThrow(/REFUSED/);
    go.resolve(jsonResponse({ done: true }));
    const response = await readToEnd(busy);
    expect(response).toContain('{"done":true}');
    expect(response).toMatch(/connection: close/i);
    await ended;
  });

  test('sends GOAWAY to HTTP/2 clients and lets their streams end', async () => {
    const go = Promise.withResolvers<ApiResponse>();
    const reached = Promise.withResolvers<void>();
    await using server = await startTestServer({
      certificate,
      resources: () => {
        reached.resolve();
        return go.promise;
      },
    });
    const session = connectHttp2(server.url, { ca: ca.cert });
    const stream = session.request({ ':path': '/api/v1/pods' });
    await reached.promise;
    const goaway = once(session, 'goaway');
    const ended = server.server.close();
    await goaway;
    go.resolve(jsonResponse({ done: true }));
    const headers = await firstOf(stream, 'response');
    expect(headers).toMatchObject({ ':status': 200 });
    stream.resume();
    await ended;
  });

  test('sends GOAWAY after a request by chance, and the request ends as usual', async () => {
    await using server = await startTestServer({
      certificate,
      options: { goawayChance: 0.5, random: () => 0.4 },
    });
    const session = connectHttp2(server.url, { ca: ca.cert });
    const goaway = once(session, 'goaway');
    const stream = session.request({ ':path': '/version' });
    const headers = await firstOf(stream, 'response');
    expect(headers).toMatchObject({ ':status': 200 });
    stream.resume();
    await goaway;
  });

  test('gives watches time for their final messages, then ends them', async () => {
    const started = Promise.withResolvers<void>();
    await using server = await startTestServer({
      certificate,
      resources: ({ signal }) => ({
        kind: 'stream',
        contentType: 'application/json',
        start(sink: StreamSink) {
          signal.addEventListener('abort', () => {
            sink.write(Buffer.from('bookmark'));
            sink.end();
          });
          started.resolve();
          return () => undefined;
        },
      }),
    });
    const socket = await open(server);
    socket.write('GET /api/v1/pods?watch=1 HTTP/1.1\r\nHost: x\r\n\r\n');
    await started.promise;
    const text = readToEnd(socket);
    await server.server.close();
    expect(await text).toMatch(/bookmark\r\n0\r\n\r\n$/);
  });

  test('disconnects requests that do not end in time', async () => {
    const reached = Promise.withResolvers<void>();
    await using server = await startTestServer({
      certificate,
      resources: () => {
        reached.resolve();
        return new Promise(() => undefined);
      },
    });
    const socket = await open(server);
    socket.write('GET /api/v1/pods HTTP/1.1\r\nHost: x\r\n\r\n');
    await reached.promise;
    await server.server.close({ drainMs: 20 });
    expect(server.server.activeRequests).toBe(0);
    socket.destroy();
  });
});
