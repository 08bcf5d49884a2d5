import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { connect as connectTcp, createServer as createTcpServer, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { Agent, request } from 'undici';
import { afterAll, describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { createTestAuthority } from '../certificates.fixture.ts';
import type { Handler } from '../contract.ts';
import { closed, firstOf } from '../events.fixture.ts';
import { startTestServer, type TestServer } from '../server.fixture.ts';
import { type ProxyOptions, proxyRequest } from './proxy.ts';

const ca = createTestAuthority();
const certificate = ca.issue('localhost');
const agents = {
  http1: new Agent({ connect: { ca: ca.cert }, allowH2: false }),
  http2: new Agent({ connect: { ca: ca.cert }, allowH2: true }),
};
afterAll(() => Promise.all([agents.http1.close(), agents.http2.close()]));

interface Target extends AsyncDisposable {
  readonly port: number;
  readonly server: Server;
}

async function listening(server: Server): Promise<Target> {
  const sockets: Socket[] = [];
  server.on('connection', (socket: Socket) => sockets.push(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  return {
    server,
    port: typeof address === 'object' && address !== null ? address.port : 0,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await closed(server);
    },
  };
}

const startTarget = (respond: (message: IncomingMessage, reply: ServerResponse) => void): Promise<Target> =>
  listening(createServer(respond));

function through(port: number, more: Partial<ProxyOptions> = {}): Handler {
  return (incoming) =>
    proxyRequest(incoming, {
      target: { host: '127.0.0.1', port, path: `/${incoming.info.rest}` },
      domain: 'example.org',
      remoteAddress: '192.0.2.1',
      ...more,
    });
}

const startProxy = (port: number, more: Partial<ProxyOptions> = {}): Promise<TestServer> =>
  startTestServer({ certificate, resources: through(port, more) });

const base = '/api/v1/namespaces/n/services/s/proxy';

describe.each(['http1', 'http2'] as const)('a request passed through, received over %s', (protocol) => {
  const dispatcher = agents[protocol];

  test('arrives with its method, path, headers and body, but without credentials and hop headers', async () => {
    let seen: IncomingMessage | undefined;
    await using target = await startTarget((message, reply) => {
      seen = message;
      reply.setHeader('X-Response', 'yes');
      reply.setHeader('Keep-Alive', 'timeout=5');
      reply.statusCode = 202;
      message.pipe(reply);
    });
    await using proxy = await startProxy(target.port, { headers: { 'X-Remote-User': 'api' } });
    const response = await request(`${proxy.url}${base}/a/b`, {
      dispatcher,
      method: 'POST',
      body: 'hello',
      headers: {
        authorization: 'Bearer jane',
        'impersonate-user': 'eve',
        'x-remote-user': 'eve',
        'x-mine': '1',
        te: 'trailers',
      },
    });
    expect([response.statusCode, await response.body.text(), response.headers['x-response']]).toEqual([
      202,
      'hello',
      'yes',
    ]);
    expect(response.headers['audit-id']).toMatch(/^[0-9a-f-]{36}$/);
    expect([seen?.method, seen?.url]).toEqual(['POST', '/a/b']);
    expect(seen?.headers).toMatchObject({
      host: `127.0.0.1:${target.port}`,
      'x-mine': '1',
      'x-remote-user': 'api',
      'x-forwarded-for': '192.0.2.1',
    });
    for (const name of ['authorization', 'impersonate-user', 'te'])
      expect(seen?.headers[name]).toBeUndefined();
  });

  test('waits for a response no longer than the timeout', async () => {
    const clock = createFakeClock();
    const arrived = Promise.withResolvers<void>();
    await using target = await startTarget(() => arrived.resolve());
    await using proxy = await startProxy(target.port, { clock, responseTimeoutMs: 1000 });
    const response = request(`${proxy.url}${base}/`, { dispatcher });
    await arrived.promise;
    await clock.advance(1000);
    const { statusCode, body } = await response;
    expect([statusCode, await body.text()]).toEqual([
      503,
      expect.stringContaining('timed out waiting for a response'),
    ]);
  });

  test('gives redirects back as they are', async () => {
    await using target = await startTarget((_message, reply) =>
      reply.writeHead(302, { Location: 'http://127.0.0.1:1/' }).end(),
    );
    await using proxy = await startProxy(target.port);
    const { statusCode, headers } = await request(`${proxy.url}${base}/`, { dispatcher });
    expect([statusCode, headers['location']]).toEqual([302, 'http://127.0.0.1:1/']);
  });

  test.each([
    [301, 'http://127.0.0.1:1/', 502],
    [302, '/elsewhere', 502],
    [307, 'https://example.org/', 502],
    [308, '//example.org/', 502],
    // These lead nowhere.
    [304, '', 304],
    [300, '', 300],
    [201, '/made', 201],
  ])('where redirects are refused, %i to %j becomes %i', async (code, location, expected) => {
    await using target = await startTarget((_message, reply) =>
      reply.writeHead(code, location === '' ? {} : { Location: location }).end(),
    );
    await using proxy = await startProxy(target.port, { refuseRedirects: true });
    const { statusCode, headers, body } = await request(`${proxy.url}${base}/`, { dispatcher });
    const refused = expected === 502;
    expect([statusCode, headers['location'] ?? '']).toEqual([expected, refused ? '' : location]);
    expect((await body.text()).includes('attempted to redirect')).toBe(refused);
  });

  test('streams a response of any size at the pace of its reader', async () => {
    let sent = 0;
    await using target = await startTarget((_message, reply) => {
      const block = Buffer.alloc(64 * 1024, 'x');
      const fill = (): void => {
        while (sent < 400) {
          sent += 1;
          if (!reply.write(block)) return void reply.once('drain', fill);
        }
        reply.end();
      };
      fill();
    });
    await using proxy = await startProxy(target.port);
    const { body } = await request(`${proxy.url}${base}/`, { dispatcher });
    const chunks = body[Symbol.asyncIterator]();
    await chunks.next();
    for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(sent).toBeLessThan(400);
    let size = 0;
    for await (const chunk of { [Symbol.asyncIterator]: () => chunks }) size += Buffer.from(chunk).length;
    expect(size).toBeGreaterThan(300 * 64 * 1024);
  });

  test('forwards the head of a response before its body', async () => {
    const go = Promise.withResolvers<void>();
    await using target = await startTarget((_message, reply) => {
      reply.flushHeaders();
      void go.promise.then(() => reply.end('late'));
    });
    await using proxy = await startProxy(target.port);
    const { statusCode, body } = await request(`${proxy.url}${base}/`, { dispatcher });
    expect(statusCode).toBe(200);
    go.resolve();
    expect(await body.text()).toBe('late');
  });

  test('is ended at the target when the client leaves', async () => {
    const left = Promise.withResolvers<void>();
    await using target = await startTarget((message, reply) => {
      message.socket.once('close', () => left.resolve());
      reply.flushHeaders();
    });
    await using proxy = await startProxy(target.port);
    const leaving = new AbortController();
    const { body } = await request(`${proxy.url}${base}/`, { dispatcher, signal: leaving.signal });
    body.on('error', () => undefined);
    leaving.abort();
    await expect(left.promise).resolves.toBeUndefined();
  });

  test('is a Status when the target refuses connections, and when it speaks no HTTP', async () => {
    const tcp = createTcpServer((socket) => socket.resume().end('no http\r\n\r\n'));
    tcp.listen(0, '127.0.0.1');
    await once(tcp, 'listening');
    const address = tcp.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    await using garbage = await startProxy(port);
    const bad = await request(`${garbage.url}${base}/`, { dispatcher });
    expect([bad.statusCode, await bad.body.json()]).toMatchObject([502, { kind: 'Status', code: 502 }]);
    tcp.close();
    await closed(tcp);
    const none = await request(`${garbage.url}${base}/`, { dispatcher });
    expect([none.statusCode, await none.body.json()]).toMatchObject([
      503,
      { kind: 'Status', reason: 'ServiceUnavailable' },
    ]);
  });

  test('cuts the response off when the target does', async () => {
    await using target = await startTarget((message, reply) => {
      reply.write('half');
      setImmediate(() => message.socket.destroy());
    });
    await using proxy = await startProxy(target.port);
    const { body } = await request(`${proxy.url}${base}/`, { dispatcher });
    await expect(body.text()).rejects.toThrow(/closed|terminated|aborted|reset|stream/i);
  });

  test('reaches a target with TLS whose certificate is good, and no other', async () => {
    const good = createHttpsServer({ cert: certificate.cert, key: certificate.key }, (_message, reply) =>
      reply.end('safe'),
    );
    await using target = await listening(good);
    await using trusting = await startProxy(target.port, { tls: { ca: ca.cert } });
    const response = await request(`${trusting.url}${base}/`, { dispatcher });
    expect(await response.body.text()).toBe('safe');
    await using careful = await startProxy(target.port, { tls: { ca: createTestAuthority('other').cert } });
    const refused = await request(`${careful.url}${base}/`, { dispatcher });
    expect(refused.statusCode).toBe(503);
    await refused.body.dump();
  });
});

describe('an upgrade passed through', () => {
  async function open(server: TestServer): Promise<TLSSocket> {
    const socket = connectTls({ port: server.port, host: '127.0.0.1', ca: ca.cert });
    socket.on('error', () => undefined);
    await once(socket, 'secureConnect');
    return socket;
  }

  const upgradeRequest = (token = 'jane', more = ''): string =>
    `GET ${base}/exec HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n${more}\r\n`;

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

  async function startUpgradeTarget(
    onUpgrade: (message: IncomingMessage, socket: Duplex, head: Buffer) => void,
  ): Promise<Target> {
    const server = createServer((_message, reply) => reply.writeHead(400).end('plain'));
    server.on('upgrade', onUpgrade);
    return listening(server);
  }

  const switching = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n';

  test('carries bytes both ways, those that came with the heads as well', async () => {
    let headers: IncomingMessage['headers'] | undefined;
    await using target = await startUpgradeTarget((message, socket, head) => {
      ({ headers } = message);
      socket.write(`${switching}welcome `);
      socket.write(head);
      socket.pipe(socket);
    });
    await using proxy = await startProxy(target.port);
    const socket = await open(proxy);
    socket.write(`${upgradeRequest()}early`);
    const text = await readUntil(socket, 'early');
    expect(text).toMatch(/^HTTP\/1\.1 101 Switching Protocols\r\n/);
    expect(text).toMatch(/\r\nUpgrade: SPDY\/3\.1\r\n/i);
    expect(text).toMatch(/\r\n\r\nwelcome early$/);
    socket.write('late');
    expect(await readUntil(socket, 'late')).toBe('late');
    expect(headers).toMatchObject({ upgrade: 'SPDY/3.1' });
    expect(headers?.authorization).toBeUndefined();
    socket.end();
    await closed(socket);
  });

  test('propagates the end of one side to the other, which may continue sending', async () => {
    await using target = await startUpgradeTarget((_message, socket) => {
      socket.write(switching);
      socket.resume();
      socket.once('end', () => socket.end('last words'));
    });
    await using proxy = await startProxy(target.port);
    const socket = await open(proxy);
    socket.write(upgradeRequest());
    await readUntil(socket, '\r\n\r\n');
    socket.allowHalfOpen = true;
    socket.end();
    expect(await readUntil(socket, 'last words')).toBe('last words');
    await closed(socket);
  });

  test('reaches no target without permission', async () => {
    let reached = 0;
    await using target = await startUpgradeTarget(() => (reached += 1));
    await using proxy = await startProxy(target.port);
    for (const [token, code] of [
      ['bad', 401],
      ['forbidden', 403],
    ] as const) {
      const socket = await open(proxy);
      socket.write(upgradeRequest(token));
      const text = await readUntil(socket, '}');
      expect(text).toMatch(new RegExp(`^HTTP/1.1 ${code} `));
      expect(text).toMatch(/connection: close/i);
      await closed(socket);
    }
    expect(reached).toBe(0);
  });

  test('gets the response of the target, if that does not switch protocols', async () => {
    await using target = await startTarget((_message, reply) => reply.writeHead(403).end('not you'));
    await using proxy = await startProxy(target.port);
    const socket = await open(proxy);
    socket.write(upgradeRequest());
    const text = await readUntil(socket, 'not you');
    expect(text).toMatch(/^HTTP\/1\.1 403 /);
    await closed(socket);
  });

  test.each([200, 204, 301, 302, 304, 307, 399])(
    'is 502 without a redirect if the target responds with %i',
    async (code) => {
      await using target = await startTarget((_message, reply) =>
        reply.writeHead(code, { Location: 'https://example.org/stolen' }).end(),
      );
      await using proxy = await startProxy(target.port);
      const socket = await open(proxy);
      socket.write(upgradeRequest());
      const text = await readUntil(socket, '}');
      expect(text).toMatch(/^HTTP\/1\.1 502 /);
      expect(text).toContain(`invalid upgrade response: status code ${code}`);
      expect(text).not.toContain('stolen');
      await closed(socket);
    },
  );

  test('is a Status when the target refuses connections', async () => {
    await using free = await startTarget(() => undefined);
    const { port } = free;
    await free[Symbol.asyncDispose]();
    await using proxy = await startProxy(port);
    const socket = await open(proxy);
    socket.write(upgradeRequest());
    expect(await readUntil(socket, '}')).toMatch(/^HTTP\/1\.1 503 /);
    await closed(socket);
  });

  test('ends on both sides with the server', async () => {
    const targetSocket = Promise.withResolvers<Duplex>();
    await using target = await startUpgradeTarget((_message, socket) => {
      socket.write(switching);
      socket.on('error', () => undefined);
      targetSocket.resolve(socket.resume());
    });
    await using proxy = await startProxy(target.port);
    const socket = await open(proxy);
    socket.write(upgradeRequest());
    await readUntil(socket, '\r\n\r\n');
    const ends = Promise.all([closed(socket), firstOf(await targetSocket.promise, 'end')]);
    await proxy.server.close({ drainMs: 1000 });
    await expect(ends).resolves.toHaveLength(2);
  });
});

test('a plain server passes on too', async () => {
  await using target = await startTarget((_message, reply) => reply.end('plain'));
  await using proxy = await startTestServer({ resources: through(target.port) });
  const socket = connectTcp(proxy.port, '127.0.0.1');
  socket.write(`GET ${base}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
  let text = '';
  for await (const chunk of socket) text += String(chunk);
  expect(text).toContain('plain');
});
