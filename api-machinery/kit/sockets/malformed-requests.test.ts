import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { refuseMalformedRequests } from './malformed-requests.ts';

const cleanUps: (() => void)[] = [];
afterEach(() => {
  for (const cleanUp of cleanUps.splice(0)) cleanUp();
});

async function client(): Promise<Socket> {
  const server = createServer({ maxHeaderSize: 16 * 1024 });
  refuseMalformedRequests(server);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  cleanUps.push(
    () => server.close(),
    () => socket.destroy(),
  );
  return socket;
}

/** Returns everything until the server's end. Rejects with a reset. */
function readToEnd(socket: Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    socket.on('data', (bytes: Buffer) => (text += bytes.toString()));
    socket.once('end', () => resolve(text));
    socket.once('error', reject);
  });
}

const BODY = Buffer.alloc(4 * 1024 * 1024, 'x');

describe('a client that sends a body after a head', () => {
  test.each([
    ['that is too long', `POST / HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(100_000)}\r\n`, '431'],
    ['that is malformed', 'POST / HTTP/1.1\r\nHost: x\r\nno colon\r\n', '400'],
    ['that is none', '\u0001\u0002\r\n', '400'],
  ])('%s sees the response, and can send all of it', async (_name, head, status) => {
    const socket = await client();
    const response = readToEnd(socket);
    const isSent = new Promise<void>((resolve, reject) => {
      socket.once('error', reject);
      socket.write(`${head}Content-Length: ${BODY.length}\r\n\r\n`);
      socket.write(BODY, () => resolve());
    });
    await isSent;
    expect(await response).toMatch(new RegExp(`^HTTP/1\\.1 ${status} .*\r\nConnection: close\r\n`));
    const closed = once(socket, 'close');
    socket.end();
    await closed;
  });
});

test('a client that never stops sending is disconnected', async () => {
  const socket = await client();
  const response = readToEnd(socket);
  socket.write('\u0001\r\n\r\n');
  expect(await response).toMatch(/^HTTP\/1\.1 400 /);
  const failed = once(socket, 'error').catch(() => undefined);
  const flood = (): void => {
    while (!socket.destroyed && socket.write(BODY));
  };
  socket.on('drain', flood);
  flood();
  await failed;
  expect(socket.destroyed).toBe(true);
});
