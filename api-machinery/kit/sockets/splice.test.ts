import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { eventually } from '../../../testing/wait.ts';
import { splice } from './splice.ts';

const disposables: AsyncDisposableStack[] = [];
afterEach(async () => {
  for (const stack of disposables.splice(0)) await stack.disposeAsync();
});

/** Returns both ends of a TCP connection; the first one is the peer, the second one is spliced. */
async function connection(): Promise<readonly [Socket, Socket]> {
  const server = createServer({ allowHalfOpen: true });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const accepted = once(server, 'connection');
  const peer = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  const [inner] = (await accepted) as [Socket];
  const stack = new AsyncDisposableStack();
  stack.defer(() => void server.close());
  for (const socket of [peer, inner]) {
    socket.on('error', () => undefined);
    stack.defer(() => void socket.destroy());
  }
  disposables.push(stack);
  return [peer, inner];
}

interface Spliced {
  readonly client: Socket;
  readonly program: Socket;
  /** The program's connection as splice has it. */
  readonly inner: Socket;
  readonly over: Promise<void>;
}

async function spliced(): Promise<Spliced> {
  const [client, outer] = await connection();
  const [program, inner] = await connection();
  return { client, program, inner, over: splice(outer, inner) };
}

async function all(socket: Socket): Promise<Buffer> {
  const parts: Buffer[] = [];
  socket.on('data', (part: Buffer) => parts.push(part)).resume();
  await Promise.race([once(socket, 'end'), once(socket, 'close')]);
  return Buffer.concat(parts);
}

const written = (socket: Socket, bytes: string | Buffer): Promise<void> =>
  new Promise((resolve) => socket.write(bytes, () => resolve()));

describe('what was read before a connection broke', () => {
  test.each([1, 1000, 60_000])('arrives: %i bytes before a reset', async (size) => {
    const { client, program, over } = await spliced();
    const text = all(client);
    await written(program, Buffer.alloc(size, 'x'));
    program.resetAndDestroy();
    expect((await text).length).toBe(size);
    client.end();
    await over;
  });

  test('arrives when the client writes to a program that has gone', async () => {
    for (let round = 0; round < 50; round += 1) {
      const { client, program, over } = await spliced();
      const text = all(client);
      const typing = setInterval(() => client.write('key'), 0);
      await once(program, 'data');
      await written(program, 'last words');
      program.destroy();
      expect((await text).toString()).toBe('last words');
      clearInterval(typing);
      client.destroy();
      await over;
    }
  });

  test('arrives at a client that reads late', async () => {
    const { client, program, inner, over } = await spliced();
    client.pause();
    program.write(Buffer.alloc(32 * 1024 * 1024, 'x'));
    // The client's side is full: what is read from the program stays in its socket.
    await eventually(() => inner.isPaused() && inner.readableLength > 0);
    const received = inner.bytesRead;
    inner.destroy(new Error('broken'));
    const text = await all(client);
    expect(text.length).toBe(received);
    client.end();
    await over;
  });
});

test('the end of one side reaches the other one, which continues sending', async () => {
  const { client, program, over } = await spliced();
  client.end('question');
  expect((await all(program)).toString()).toBe('question');
  program.end('reply');
  expect((await all(client)).toString()).toBe('reply');
  await over;
});

test('a slow receiver slows the sender down, and gets everything', async () => {
  const { client, program, over } = await spliced();
  client.pause();
  const size = 32 * 1024 * 1024;
  program.end(Buffer.alloc(size, 'x'));
  await eventually(() => program.writableLength > 0);
  expect((await all(client)).length).toBe(size);
  client.end();
  await over;
});

test('a client that is gone ends the connection of the program', async () => {
  const { client, program, over } = await spliced();
  const ended = Promise.race([once(program.resume(), 'end'), once(program, 'close')]);
  client.resetAndDestroy();
  await ended;
  program.end();
  await expect(over).resolves.toBeUndefined();
});
