import { type AddressInfo, createServer, type Server } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { HttpGetError, httpGet } from './http-get.ts';

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

/** A server that responds to every request with these bytes and leaves the connection open. */
async function serveBytes(bytes: string): Promise<number> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.write(bytes));
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

async function get(bytes: string, signal: AbortSignal): Promise<unknown> {
  const port = await serveBytes(bytes);
  return httpGet({ action: { port }, host: '127.0.0.1', port, userAgent: 'test' }, signal);
}

describe('httpGet', () => {
  const never = new AbortController().signal;

  // A container that blocks its preStop hook forever could not be stopped.
  test.each([
    ['switches protocols', 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'],
    ['switches protocols, with data', 'HTTP/1.1 101 X\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nabc'],
    ['sends no HTTP', 'SSH-2.0-hello\r\n'],
    ['sends headers without end', `HTTP/1.1 200 OK\r\nx: ${'a'.repeat(100_000)}`],
  ])('fails when the container %s', async (_, bytes) => {
    await expect(get(bytes, never)).rejects.toThrow(HttpGetError);
  });

  test.each([
    ['nothing', ''],
    ['half of the headers', 'HTTP/1.1 200 OK\r\nx'],
    ['half of the body', 'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc'],
    ['informational responses only', 'HTTP/1.1 102 Processing\r\n\r\n'],
  ])('ends with the signal when the container sends %s', async (_, bytes) => {
    const stop = new AbortController();
    const asked = get(bytes, stop.signal);
    setImmediate(() => stop.abort(new Error('given up')));
    await expect(asked).rejects.toThrow('given up');
  });

  test('reads no more of a body than it returns', async () => {
    const bytes = await get(`HTTP/1.1 200 OK\r\n\r\n${'x'.repeat(50_000)}`, never);
    expect(bytes).toEqual({ statusCode: 200, body: 'x'.repeat(10_240) });
  });
});
