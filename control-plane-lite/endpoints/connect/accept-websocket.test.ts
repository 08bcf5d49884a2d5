import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { connect, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { afterEach, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { splice } from '#api/kit/sockets/splice.ts';
import { acceptClient } from './accept-websocket.ts';
import { createMessageStream } from './message-stream.ts';

const PROTOCOL = 'v1.protocol';
const cleanUps: (() => void)[] = [];
afterEach(() => {
  for (const cleanUp of cleanUps.splice(0)) cleanUp();
});

async function portOf(server: Server): Promise<number> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  cleanUps.push(() => server.close());
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

interface Accepting {
  readonly port: number;
  /** The first client, as it was accepted. */
  readonly client: Promise<WebSocket>;
}

async function accepting(): Promise<Accepting> {
  const client = Promise.withResolvers<WebSocket>();
  const server = createServer();
  server.on('upgrade', (message: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => undefined);
    const begun = (): void => undefined;
    acceptClient({ kind: 'upgrade', message, socket, head, begun }, PROTOCOL, 'id').then(
      (accepted) =>
        accepted === undefined ? client.reject(new Error('rejected')) : client.resolve(accepted),
      client.reject,
    );
  });
  return { port: await portOf(server), client: client.promise };
}

/** An agent: returns its end of the connection, and the server's. */
async function agentConnection(): Promise<readonly [agent: Socket, dialed: Socket]> {
  const server = createTcpServer({ allowHalfOpen: true });
  const port = await portOf(server);
  const accepted = once(server, 'connection');
  const dialed = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  const [agent] = (await accepted) as [Socket];
  for (const socket of [agent, dialed]) {
    socket.on('error', () => undefined);
    cleanUps.push(() => socket.destroy());
  }
  return [agent, dialed];
}

interface Tunnel {
  readonly client: WebSocket;
  /** The client's connection below the protocol. */
  readonly socket: Socket;
  readonly agent: Socket;
  readonly over: Promise<void>;
}

async function tunnel(): Promise<Tunnel> {
  const { port, client: accepted } = await accepting();
  const socket = connect(port, '127.0.0.1');
  const client = new WebSocket(`ws://127.0.0.1:${port}/`, PROTOCOL, {
    createConnection: () => socket,
  });
  client.on('error', () => undefined);
  cleanUps.push(() => client.terminate());
  const [agent, dialed] = await agentConnection();
  const over = splice(createMessageStream(await accepted), dialed);
  return { client, socket, agent, over };
}

const LARGE = 16 * 1024 * 1024;

/** As an agent: reads to the end, and returns the number of bytes. */
function readAll(agent: Socket): Promise<number> {
  let size = 0;
  agent.on('data', (bytes: Buffer) => (size += bytes.length)).resume();
  return new Promise((resolve) => {
    agent.once('end', () => resolve(size));
    agent.once('close', () => resolve(size));
  });
}

test('messages that arrive with the handshake wait for who reads them', async () => {
  const { port, client } = await accepting();
  const socket = connect(port, '127.0.0.1');
  cleanUps.push(() => socket.destroy());
  const head = [
    'GET / HTTP/1.1',
    'Host: x',
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    `Sec-WebSocket-Key: ${Buffer.alloc(16).toString('base64')}`,
  ].join('\r\n');
  // A whole message, masked with zeros.
  const message = (text: string): Buffer =>
    Buffer.concat([Buffer.of(0x82, 0x80 + text.length, 0, 0, 0, 0), Buffer.from(text)]);
  socket.write(Buffer.concat([Buffer.from(`${head}\r\n\r\n`), message('first '), message('second')]));
  await once(socket, 'data');
  const accepted = await client;
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  let text = '';
  for await (const bytes of createMessageStream(accepted)) {
    text += String(bytes);
    if (text.length >= 12) break;
  }
  expect(text).toBe('first second');
});

describe('a tunnel ends, with its connection to the agent,', () => {
  test.each<readonly [string, (tunnel: Tunnel) => void]>([
    ['closes', ({ client }) => client.close()],
    ['breaks off', ({ client }) => client.terminate()],
    ['resets its connection', ({ socket }) => void socket.resetAndDestroy()],
    ['ends its connection without a close', ({ socket }) => void socket.end()],
    ['sends no WebSocket', ({ socket }) => void socket.write('no frame at all')],
  ])('when its client %s', async (_name, leave) => {
    const opened = await tunnel();
    const { client, agent, over } = opened;
    if (client.readyState !== client.OPEN) await once(client, 'open');
    const read = readAll(agent);
    client.send('hello');
    await once(agent, 'data');
    agent.write('hello');
    await once(client, 'message');
    leave(opened);
    expect(await read).toBe(5);
    agent.end();
    await over;
  });

  test('when its client resets the connection while much is on the way to it', async () => {
    const { client, socket, agent, over } = await tunnel();
    if (client.readyState !== client.OPEN) await once(client, 'open');
    const read = readAll(agent);
    client.pause();
    agent.write(Buffer.alloc(LARGE));
    client.send('x'.repeat(1000));
    await once(agent, 'data');
    socket.resetAndDestroy();
    expect(await read).toBe(1000);
    agent.destroy();
    await over;
  });

  test('when the agent breaks off while much is on the way to it', async () => {
    const { client, agent, over } = await tunnel();
    if (client.readyState !== client.OPEN) await once(client, 'open');
    const closed = once(client, 'close');
    agent.pause();
    for (let sent = 0; sent < LARGE; sent += 1024 * 1024) client.send(Buffer.alloc(1024 * 1024));
    await new Promise((resolve) => setImmediate(resolve));
    agent.resetAndDestroy();
    await over;
    await closed;
    expect(client.readyState).toBe(client.CLOSED);
  });
});

test('a client that reads late gets everything that the agent sent before it ended', async () => {
  const { client, agent, over } = await tunnel();
  if (client.readyState !== client.OPEN) await once(client, 'open');
  client.pause();
  let size = 0;
  client.on('message', (data: Buffer) => (size += data.length));
  const read = readAll(agent);
  agent.end(Buffer.alloc(LARGE));
  client.send('typed meanwhile');
  await once(agent, 'data');
  const closed = once(client, 'close');
  client.resume();
  await closed;
  expect(size).toBe(LARGE);
  expect(await read).toBe(15);
  await over;
});

test('an agent that reads late gets everything that the client sent before it closed', async () => {
  const { client, agent, over } = await tunnel();
  if (client.readyState !== client.OPEN) await once(client, 'open');
  agent.pause();
  for (let sent = 0; sent < LARGE; sent += 1024 * 1024) client.send(Buffer.alloc(1024 * 1024));
  client.close();
  const read = readAll(agent);
  expect(await read).toBe(LARGE);
  agent.end();
  await over;
});
