import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { connect as connectHttp2 } from 'node:http2';
import { connect as connectTls } from 'node:tls';
import { createGunzip } from 'node:zlib';
import { Agent, request } from 'undici';
import { afterAll, describe, expect, test } from 'vitest';
import { type RawData, WebSocket } from 'ws';
import { createFakeClock } from '#api/kit/clock.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { createTestAuthority } from '../certificates.fixture.ts';
import type { Handler, StreamSink } from '../contract.ts';
import { firstOf } from '../events.fixture.ts';
import { startTestServer, type TestServer, type TestServerOptions } from '../server.fixture.ts';
import { chooseSubprotocol, splitLines } from './websocket.ts';

const domain = VOCABULARIES.plat.apiGroupDomain;
const ca = createTestAuthority();
const certificate = ca.issue('localhost');
const agents = {
  http1: new Agent({ connect: { ca: ca.cert }, allowH2: false }),
  http2: new Agent({ connect: { ca: ca.cert }, allowH2: true }),
};
afterAll(() => Promise.all([agents.http1.close(), agents.http2.close()]));

interface Watched extends AsyncDisposable {
  readonly server: TestServer;
  readonly sink: Promise<StreamSink>;
  /** Resolves once the owner is notified that the client is gone. */
  readonly stopped: Promise<void>;
}

async function startWatch(
  binary = false,
  given: TestServerOptions = {},
  compressible = false,
): Promise<Watched> {
  const sink = Promise.withResolvers<StreamSink>();
  const stopped = Promise.withResolvers<void>();
  const resources: Handler = () => ({
    kind: 'stream',
    contentType: 'application/json;stream=watch',
    webSocket: { binary },
    compressible,
    start(opened) {
      sink.resolve(opened);
      return () => stopped.resolve();
    },
  });
  const server = await startTestServer({ certificate, resources, ...given });
  return {
    server,
    sink: sink.promise,
    stopped: stopped.promise,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

const path = '/api/v1/pods?watch=1';

function openSocket(
  server: TestServer,
  protocols: string[] = [],
  headers: Record<string, string> = {},
): WebSocket {
  return new WebSocket(`wss://127.0.0.1:${server.port}${path}`, protocols, { ca: ca.cert, headers });
}

const textOf = (data: RawData): string => (data instanceof Buffer ? data.toString() : '');

function nextFrame(client: WebSocket): Promise<readonly [text: string, binary: boolean]> {
  return new Promise((resolve) => {
    client.once('message', (data, binary) => resolve([textOf(data), binary]));
  });
}

describe.each(['http1', 'http2'] as const)('a stream over %s', (protocol) => {
  const dispatcher = agents[protocol];

  test('shows its head before the first event, then each event as it comes', async () => {
    await using watch = await startWatch();
    const { statusCode, headers, body } = await request(watch.server.url + path, { dispatcher });
    expect([statusCode, headers['content-type']]).toEqual([200, 'application/json;stream=watch']);
    const sink = await watch.sink;
    const chunks = body[Symbol.asyncIterator]();
    for (const text of ['one\n', 'two\n']) {
      sink.write(Buffer.from(text));
      expect(String((await chunks.next()).value)).toBe(text);
    }
    sink.end();
    expect((await chunks.next()).done).toBe(true);
    await watch.stopped;
    expect(watch.server.registry.text()).toMatch(/apiserver_longrunning_requests\{verb="WATCH",.*\} 0/);
  });

  test('notifies its owner when the client leaves', async () => {
    await using watch = await startWatch();
    const leaving = new AbortController();
    const { body } = await request(watch.server.url + path, { dispatcher, signal: leaving.signal });
    await watch.sink;
    body.on('error', () => undefined);
    leaving.abort();
    await watch.stopped;
    (await watch.sink).write(Buffer.from('too late'));
    await watch.server.server.close();
    expect(watch.server.server.activeRequests).toBe(0);
  });
});

describe.each(['http1', 'http2'] as const)('a stream that may be compressed over %s', (protocol) => {
  const dispatcher = agents[protocol];

  test('shows each event as it comes, and ends whole', async () => {
    await using watch = await startWatch(false, {}, true);
    const { headers, body } = await request(watch.server.url + path, {
      dispatcher,
      headers: { 'accept-encoding': 'gzip' },
    });
    expect(headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'Accept-Encoding' });
    const reader = body.pipe(createGunzip());
    const events = reader[Symbol.asyncIterator]();
    const sink = await watch.sink;
    for (const [text, readers] of [
      ['one\n', 1],
      ['two\n'.repeat(10_000), 50],
      ['three\n', 50],
    ] as const) {
      sink.write(Buffer.from(text), readers);
      let read = '';
      while (read.length < text.length) read += String((await events.next()).value);
      expect(read).toBe(text);
    }
    sink.end();
    expect((await events.next()).done).toBe(true);
    await watch.stopped;
  });

  test.each([
    ['the client does not accept it', true, 'identity'],
    ['its owner forbids it', false, 'gzip'],
  ])('is as it is where %s', async (_, compressible, encoding) => {
    await using watch = await startWatch(false, {}, compressible);
    const { headers, body } = await request(watch.server.url + path, {
      dispatcher,
      headers: { 'accept-encoding': encoding },
    });
    expect(headers['content-encoding']).toBeUndefined();
    const sink = await watch.sink;
    sink.write(Buffer.from('one\n'), 50);
    sink.end();
    expect(await body.text()).toBe('one\n');
  });
});

describe.each(['http1', 'http2'] as const)('a client that is slow over %s', (protocol) => {
  const dispatcher = agents[protocol];
  // More than the kernel buffers for a client that reads nothing, less than the allowed backlog.
  const block = Buffer.alloc(7 * 1024 * 1024, 'x');

  test('has taken the written bytes when its owner is notified', async () => {
    await using watch = await startWatch();
    const { body } = await request(watch.server.url + path, { dispatcher });
    const sink = await watch.sink;
    expect(sink.drained?.()).toBeUndefined();
    sink.write(block);
    const drained = sink.drained?.();
    expect(drained).toBeInstanceOf(Promise);
    let size = 0;
    body.on('data', (chunk: Buffer) => {
      size += chunk.length;
    });
    await drained;
    expect(size).toBeGreaterThan(0);
    sink.end();
    await once(body, 'end');
    expect(size).toBe(block.length);
  });

  test('does not hold its owner when it leaves', async () => {
    await using watch = await startWatch();
    const leaving = new AbortController();
    const { body } = await request(watch.server.url + path, { dispatcher, signal: leaving.signal });
    body.on('error', () => undefined);
    const sink = await watch.sink;
    sink.write(block);
    const drained = sink.drained?.();
    leaving.abort();
    await Promise.all([drained, watch.stopped]);
    expect(sink.drained?.()).toBeUndefined();
  });

  test.each([
    ['30 s after its stream has ended', 30_000],
    ['a second after the server should have ended', 1000],
  ])('is cut off %s', async (_, ms) => {
    const clock = createFakeClock();
    await using watch = await startWatch(false, { deps: { clock } });
    const { body } = await request(watch.server.url + path, { dispatcher });
    body.on('error', () => undefined);
    const sink = await watch.sink;
    sink.write(block);
    if (ms > 1000) {
      sink.end();
      await clock.advance(ms);
    }
    const ended = watch.server.server.close({ drainMs: 1_000_000 });
    if (ms === 1000) {
      sink.end();
      await clock.advance(ms);
    }
    await ended;
    expect(watch.server.server.activeRequests).toBe(0);
    body.destroy();
  });
});

test('a slow WebSocket has taken the written bytes when its owner is notified', async () => {
  await using watch = await startWatch(true);
  const client = openSocket(watch.server);
  await once(client, 'open');
  client.pause();
  const sink = await watch.sink;
  const size = 4 * 1024 * 1024;
  sink.write(Buffer.alloc(size, 'x'));
  const drained = sink.drained?.();
  expect(drained).toBeInstanceOf(Promise);
  const message = new Promise<number>((resolve) => {
    client.once('message', (data) => resolve(data instanceof Buffer ? data.length : 0));
  });
  client.resume();
  await drained;
  expect(await message).toBe(size);
  sink.end();
  await once(client, 'close');
});

describe('a client that does not read', () => {
  const limits = { options: { streams: { maxBytes: 1024 * 1024 } } };
  const block = Buffer.alloc(256 * 1024, 'x');

  async function writeUntilStopped(watch: Watched): Promise<number> {
    const sink = await watch.sink;
    const turn = (): Promise<'more'> => new Promise((resolve) => setImmediate(() => resolve('more')));
    const stopped = watch.stopped.then(() => 'stopped' as const);
    for (let blocks = 1; blocks < 200; blocks += 1) {
      sink.write(block);
      await turn();
      if ((await Promise.race([stopped, Promise.resolve('more')])) === 'stopped') return blocks;
    }
    return 200;
  }

  test('is cut off over HTTP/1.1', async () => {
    await using watch = await startWatch(false, limits);
    const socket = connectTls({ port: watch.server.port, host: '127.0.0.1', ca: ca.cert });
    socket.on('error', () => undefined);
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
    await once(socket, 'secureConnect');
    socket.pause();
    expect(await writeUntilStopped(watch)).toBeLessThan(200);
    socket.destroy();
  });

  test('is disconnected after a while, however much a small response contains', async () => {
    const clock = createFakeClock();
    const patient = { streams: { maxBytes: 64 * 1024 * 1024 } };
    await using watch = await startWatch(false, { deps: { clock }, options: patient }, true);
    const socket = connectTls({ port: watch.server.port, host: '127.0.0.1', ca: ca.cert });
    socket.on('error', () => undefined);
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\n\r\n`);
    await once(socket, 'secureConnect');
    socket.pause();
    const sink = await watch.sink;
    // More than the kernel buffers.
    sink.write(Buffer.alloc(24 * 1024 * 1024, 'x'));
    // The head may be written first, which counts as progress.
    for (let looks = 0; looks < 2; looks += 1) {
      await clock.advance(15_000);
      sink.write(Buffer.alloc(1024 * 1024, 'x'), 50);
      await clock.advance(15_000);
    }
    await expect(watch.stopped).resolves.toBeUndefined();
    socket.destroy();
  });

  test('loses its stream over HTTP/2 and nothing else', async () => {
    await using watch = await startWatch(false, limits);
    const session = connectHttp2(watch.server.url, { ca: ca.cert });
    const stuck = session.request({ ':path': path });
    stuck.on('error', () => undefined);
    await watch.sink;
    expect(await writeUntilStopped(watch)).toBeLessThan(200);
    const other = session.request({ ':path': '/version' });
    const headers = await firstOf(other, 'response');
    expect(headers).toMatchObject({ ':status': 200 });
    session.destroy();
  });

  test('is cut off as a WebSocket', async () => {
    await using watch = await startWatch(true, limits);
    const client = openSocket(watch.server);
    client.on('error', () => undefined);
    await once(client, 'open');
    client.pause();
    expect(await writeUntilStopped(watch)).toBeLessThan(200);
    client.terminate();
  });
});

describe('a WebSocket of a page', () => {
  const watch: Handler = () => ({
    kind: 'stream',
    contentType: 'application/json',
    webSocket: { binary: false },
    start(sink) {
      sink.write(Buffer.from('{}\n'));
      return () => undefined;
    },
  });
  const token = `base64url.bearer.authorization.${VOCABULARIES.plat.apiGroupDomain}.${Buffer.from('jane').toString('base64url')}`;
  const jane = ca.issue('jane');
  const FOREIGN: readonly string[] = [
    'https://evil.example',
    'http://localhost:8080',
    'null',
    'https://127.0.0.1',
  ];

  /** Credentials that the authenticator received; undefined if it was not called. */
  async function shown(protocols: readonly string[], origin?: string): Promise<string | undefined> {
    await using server = await startTestServer({ certificate, resources: watch });
    const client = new WebSocket(`wss://127.0.0.1:${server.port}/api/v1/pods?watch=1`, [...protocols], {
      ca: ca.cert,
      cert: jane.cert,
      key: jane.key,
      ...(origin === undefined ? {} : { origin: origin.replace('PORT', String(server.port)) }),
    });
    client.on('error', () => undefined);
    await Promise.race([firstOf(client, 'message'), firstOf(client, 'close')]);
    client.terminate();
    const [authentication] = server.authentications;
    return (
      authentication &&
      [authentication.certificate && 'certificate', authentication.bearerToken && 'token']
        .filter(Boolean)
        .join(' ')
    );
  }

  test.each([undefined, 'http://localhost', 'https://127.0.0.1:PORT'])(
    'at %s counts with the certificate',
    async (origin) => {
      expect(await shown([], origin)).toBe('certificate');
      expect(await shown([token, 'x'], origin)).toBe('certificate token');
    },
  );

  test.each(FOREIGN)('at %s counts with what it knows only', async (origin) => {
    expect(await shown([], origin)).toBeUndefined();
    expect(await shown([token, 'x'], origin)).toBe('token');
  });
});

describe('a WebSocket', () => {
  test('has a text frame for each line', async () => {
    await using watch = await startWatch();
    const client = openSocket(watch.server);
    const frames: unknown[] = [];
    const all = new Promise<void>((resolve) => {
      client.on('message', (data, binary) => {
        frames.push([textOf(data), binary]);
        if (frames.length === 3) resolve();
      });
    });
    const sink = await watch.sink;
    sink.write(Buffer.from('{"a":1}\n{"a":2}\n'));
    sink.write(Buffer.from('{"a":3}\n'));
    await all;
    expect(frames).toEqual([
      ['{"a":1}\n', false],
      ['{"a":2}\n', false],
      ['{"a":3}\n', false],
    ]);
    sink.end();
    const code = await firstOf(client, 'close');
    expect(code).toBe(1000);
  });

  test.each([
    [[], true, '', true, 'a\n'],
    [[`binary.${domain}`], false, `binary.${domain}`, true, 'a\n'],
    [['other', `base64.binary.${domain}`], false, `base64.binary.${domain}`, false, 'YQo='],
    [['other'], false, 'other', false, 'a\n'],
  ])('that offers %j gets its frames so', async (offered, binary, protocol, isBinary, text) => {
    await using watch = await startWatch(binary);
    const client = openSocket(watch.server, offered);
    const frame = nextFrame(client);
    (await watch.sink).write(Buffer.from('a\n'));
    expect(await frame).toEqual([text, isBinary]);
    expect(client.protocol).toBe(protocol);
    client.terminate();
    await watch.stopped;
  });

  test('may bring its token as a subprotocol, which is never chosen', async () => {
    await using watch = await startWatch();
    const token = `base64url.bearer.authorization.${domain}.${Buffer.from('jane').toString('base64url')}`;
    const client = openSocket(watch.server, [token, `binary.${domain}`]);
    await once(client, 'open');
    expect(client.protocol).toBe(`binary.${domain}`);
    expect(watch.server.authentications[0]?.bearerToken).toBe('jane');
    client.terminate();
  });

  test.each([
    ['without another subprotocol', [`base64url.bearer.authorization.${domain}.amFuZQ`], 401],
    ['for one who may not', [`base64url.bearer.authorization.${domain}.Zm9yYmlkZGVu`, 'x'], 403],
    ['for a bad token', [`base64url.bearer.authorization.${domain}.YmFk`, 'x'], 401],
  ])('is refused %s before the protocol changes', async (_name, protocols, code) => {
    await using watch = await startWatch();
    const client = openSocket(watch.server, protocols);
    client.on('error', () => undefined);
    const response = await new Promise<IncomingMessage>((resolve) => {
      client.once('unexpected-response', (_request, rejected) => resolve(rejected));
    });
    expect(response.statusCode).toBe(code);
    let body = '';
    for await (const chunk of response) body += String(chunk);
    expect(JSON.parse(body)).toMatchObject({ kind: 'Status', code });
    client.terminate();
  });
});

describe('splitLines', () => {
  test.each([
    ['a\nb\n', ['a\n', 'b\n']],
    ['a', ['a']],
    ['a\n\nb', ['a\n', '\n', 'b']],
    ['', []],
  ])('of %j', (text, lines) => {
    expect([...splitLines(Buffer.from(text))].map(String)).toEqual(lines);
  });
});

describe('chooseSubprotocol', () => {
  test.each([
    [[], undefined],
    [['a', 'b'], 'a'],
    [['a', 'binary.d'], 'binary.d'],
  ])('of %j is %s', (offered, chosen) => {
    expect(chooseSubprotocol(offered, 'd')).toBe(chosen);
  });
});
