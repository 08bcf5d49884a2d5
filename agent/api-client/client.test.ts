import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { createApiClient } from './client.ts';

const { signal } = new AbortController();
const pods = { apiVersion: 'v1', resource: 'pods' };

/** A server with a configurable response for each request. */
async function setUp(respond: (request: IncomingMessage, response: ServerResponse) => void) {
  const server = createServer(respond);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const clock = createFakeClock();
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = createApiClient(
    { clock, log: silentLogger, env: {}, hasTerminal: false, passOn: () => undefined },
    {
      file: '/none',
      userName: '',
      server: `${url}/base`,
      namespace: 'default',
      tls: { insecure: false },
      credentials: {},
    },
    { userAgent: 'test/1' },
  );
  return {
    client,
    clock,
    url,
    async [Symbol.asyncDispose]() {
      await client[Symbol.asyncDispose]();
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

describe('createApiClient', () => {
  test('sends requests below the path of the server, with a user agent', async () => {
    await using world = await setUp(({ url, headers }, response) => {
      response.end(JSON.stringify({ url, agent: headers['user-agent'], accept: headers.accept }));
    });
    expect(await world.client.list(pods, signal, { limit: 5 })).toEqual({
      url: '/base/api/v1/pods?limit=5',
      agent: 'test/1',
      accept: 'application/json',
    });
  });

  test('times out on a server that does not respond', async () => {
    const asked = Promise.withResolvers<void>();
    await using world = await setUp(() => asked.resolve());
    const failure = world.client.list(pods, signal).catch((error: unknown) => error);
    await asked.promise;
    await world.clock.advance(30_000);
    expect(await failure).toMatchObject({
      name: 'ServerUnreachableError',
      message: `${world.url}/base did not respond within 30000 ms`,
    });
  });

  test.each([
    ['a response', (text: string) => text],
    ['a watch', (text: string) => `{"type":"ADDED","object":{}}\n${text}`],
  ])('reports a server that closes the connection within %s', async (what, body) => {
    await using world = await setUp((_request, response) => {
      response.writeHead(200, { 'content-length': '1000' });
      response.write(body('{'), () => response.destroy());
    });
    const run = async (): Promise<void> => {
      if (what === 'a response') await world.client.list(pods, signal);
      else for await (const event of world.client.watch(pods, signal)) void event;
    };
    await expect(run()).rejects.toMatchObject({
      name: 'ServerUnreachableError',
      message: expect.stringMatching(/closed the connection: /) as string,
    });
  });

  test('follows no redirect', async () => {
    let requests = 0;
    await using world = await setUp((_request, response) => {
      requests += 1;
      response.writeHead(302, { location: '/other' }).end();
    });
    await expect(world.client.list(pods, signal)).rejects.toMatchObject({ status: 302 });
    expect(requests).toBe(1);
  });
});
