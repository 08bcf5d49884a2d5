import { type AddressInfo, createServer, type Server } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { HttpGetError, httpGet } from './http-get.ts';

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

/** A server that answers every request with these bytes and leaves the connection open. */
async function answering(bytes: string): Promise<number> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.write(bytes));
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

async function get(answer: string, signal: AbortSignal): Promise<unknown> {
  const port = await answering(answer);
  return httpGet({ action: { port }, host: '127.0.0.1', port, userAgent: 'test' }, signal);
}

describe('httpGet', () => {
  const never = new AbortController().signal;

  // A container that could hold up its preStop hook for ever could not be stopped.
  test.each([
    ['switches protocols', 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'],
    ['switches protocols, with data', 'HTTP/1.1 101 X\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nabc'],
    ['sends no HTTP', 'SSH-2.0-hello\r\n'],
    ['sends headers without end', `HTTP/1.1 200 OK\r\nx: ${'a'.repeat(100_000)}`],
  ])('fails when the container %s', async (_, answer) => {
    await expect(get(answer, never)).rejects.toThrow(HttpGetError);
  });

  test.each([
    ['nothing', ''],
    ['half of the headers', 'HTTP/1.1 200 OK\r\nx'],
    ['half of the body', 'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc'],
    ['informational answers only', 'HTTP/1.1 102 Processing\r\n\r\n'],
  ])('ends with the signal when the container sends %s', async (_, answer) => {
    const stop = new AbortController();
    const asked = get(answer, stop.signal);
    setImmediate(() => stop.abort(new Error('given up')));
    await expect(asked).rejects.toThrow('given up');
  });

  test('takes no more of a body than it shows', async () => {
    const answer = await get(`HTTP/1.1 200 OK\r\n\r\n${'x'.repeat(50_000)}`, never);
    expect(answer).toEqual({ statusCode: 200, body: 'x'.repeat(10_240) });
  });
});
