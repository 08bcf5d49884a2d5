import { mkdtemp, rm, stat } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Logger, silentLogger } from '#api/kit/logger.ts';
import { eventually } from '../../testing/wait.ts';
import { type RunningServer, serveHttp } from './http.ts';
import type { Route, RouteResult } from './routes.ts';

let dir: string;
const servers: RunningServer[] = [];
const logged: string[] = [];
const log: Logger = {
  ...silentLogger,
  error: (_, message) => void logged.push(message),
  warn: (_, message) => void logged.push(message),
};
beforeEach(async () => {
  dir = await mkdtemp('/tmp/na-http-');
  logged.length = 0;
});
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
  await rm(dir, { recursive: true, force: true });
});

const text = (value: string): RouteResult => ({ kind: 'text', text: value });
const healthz: Route = { method: 'GET', path: '/healthz', handle: () => text('ok') };

async function serve(routes: readonly Route[]): Promise<number> {
  const server = await serveHttp({ log, routes }, { kind: 'tcp', address: '127.0.0.1', port: 0 });
  servers.push(server);
  return server.port;
}

/** Returns everything that the server sends in response to these bytes until it closes the connection. */
function say(port: number, bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    let response = '';
    socket.on('data', (data: Buffer) => {
      response += data.toString();
    });
    socket.on('error', reject);
    socket.on('close', () => resolve(response));
    socket.write(bytes);
  });
}

const get = (target: string): string => `GET ${target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`;

test.each([
  ['is too long', `POST / HTTP/1.1\r\nhost: x\r\nx: ${'x'.repeat(100_000)}`, '431'],
  ['is malformed', 'POST / HTTP/1.1\r\nhost: x\r\nno colon', '400'],
])('a client that sends a body after a head that %s sees the response', async (_name, head, status) => {
  const port = await serve([healthz]);
  const body = 'x'.repeat(4_000_000);
  const response = await say(port, `${head}\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
  expect(response).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
});

describe('serveHttp', () => {
  test.each<[string, string]>([
    ['/healthz', '200'],
    ['/healthz?verbose', '200'],
    ['//', '404'],
    ['//evil.example/healthz', '404'],
    ['/%', '404'],
    ['/%00', '404'],
    ['/../../etc/passwd', '404'],
    ['http://', '400'],
    ['http://evil.example/healthz', '400'],
    ['*', '400'],
  ])('responds to GET %s with %s and logs nothing', async (target, status) => {
    const port = await serve([healthz]);
    expect(await say(port, get(target))).toContain(`HTTP/1.1 ${status} `);
    expect(logged).toEqual([]);
  });

  test.each<[string, string, string]>([
    ['a request that is none', 'hello\r\n\r\n', '400'],
    ['headers that are too large', `GET / HTTP/1.1\r\nhost: x\r\na: ${'b'.repeat(20_000)}\r\n\r\n`, '431'],
  ])('rejects %s', async (_, bytes, status) => {
    expect(await say(await serve([healthz]), bytes)).toContain(` ${status} `);
  });

  test('rejects a body that is too large', async () => {
    const echo: Route = {
      method: 'POST',
      path: '/echo',
      handle: async ({ body }) => text(await body()),
    };
    const port = await serve([echo]);
    const length = 3 * 1024 * 1024 + 1;
    const head = `POST /echo HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: ${length}\r\n\r\n`;
    expect(await say(port, head + 'x'.repeat(length))).toContain(' 413 ');
  });

  test('does not log a disconnected client as an error', async () => {
    const gone = Promise.withResolvers<void>();
    const slow: Route = {
      method: 'GET',
      path: '/slow',
      handle: ({ signal }) =>
        new Promise((_, reject) => {
          asked.resolve();
          signal.addEventListener(
            'abort',
            () => {
              reject(new Error('client disconnected'));
              setImmediate(gone.resolve);
            },
            { once: true },
          );
        }),
    };
    const asked = Promise.withResolvers<void>();
    const socket = connect(await serve([slow]), '127.0.0.1');
    socket.write(get('/slow'));
    await asked.promise;
    socket.destroy();
    await gone.promise;
    expect(logged).toEqual([]);
  });

  test('limits connections to leave descriptors for pods, and responds despite idle ones', async () => {
    const port = await serve([healthz]);
    const idle = ['127.0.0.1', '127.0.0.2'].flatMap((localAddress) =>
      Array.from({ length: 64 }, () => connect({ port, host: '127.0.0.1', localAddress })),
    );
    for (const socket of idle) socket.on('error', () => undefined).resume();
    const isOpen = (socket: Socket): boolean => !socket.connecting && !socket.closed;
    await eventually(() => idle.filter(isOpen).length === 64 && !idle.some(({ connecting }) => connecting));
    const response = await fetch(`http://127.0.0.1:${port}/healthz`);
    expect([response.status, await response.text()]).toEqual([200, 'ok']);
    for (const socket of idle) socket.destroy();
  });

  test('creates a socket for root only', async () => {
    const path = join(dir, 'new', 'a.sock');
    servers.push(await serveHttp({ log, routes: [healthz] }, { kind: 'unix', path }));
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect((await stat(join(dir, 'new'))).mode & 0o007).toBe(0);
  });
});
