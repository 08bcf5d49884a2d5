import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { createRandom, type Random } from '../../testing/random.ts';
import { ofRound } from '../../testing/rounds.ts';
import { createSpdyConnection, type SpdyConnection } from './connection.ts';
import type { SpdyStream } from './stream.ts';

const ROUNDS = ofRound({ short: 8, long: 200 });

const cleanUps: (() => void)[] = [];
afterEach(() => {
  for (const cleanUp of cleanUps.splice(0)) cleanUp();
});

async function sockets(): Promise<readonly [client: Socket, server: Socket]> {
  const server = createServer({ allowHalfOpen: true });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const accepted = once(server, 'connection');
  const client = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  const [inner] = (await accepted) as [Socket];
  cleanUps.push(
    () => server.close(),
    () => client.destroy(),
    () => inner.destroy(),
  );
  return [client, inner];
}

interface Pair {
  readonly client: SpdyConnection;
  readonly server: SpdyConnection;
  /** Both ends of the output and of the input, as the client and the server have them. */
  readonly output: readonly [SpdyStream, SpdyStream];
  readonly input: readonly [SpdyStream, SpdyStream];
}

async function pair(): Promise<Pair> {
  const [own, peer] = await sockets();
  const accepted: SpdyStream[] = [];
  const server = createSpdyConnection(peer, { role: 'server', onStream: (stream) => accepted.push(stream) });
  const client = createSpdyConnection(own, { role: 'client' });
  const output = client.open({ streamtype: ['output'] });
  const input = client.open({ streamtype: ['input'] });
  await Promise.all([output.accepted, input.accepted]);
  const [first, second] = accepted;
  if (first === undefined || second === undefined) throw new Error('the streams were not accepted');
  return { client, server, output: [output, first], input: [input, second] };
}

const turns = async (count: number): Promise<void> => {
  for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => setImmediate(resolve));
};

/** Types until the connection takes no more. */
async function type(stream: SpdyStream, random: Random): Promise<void> {
  try {
    for (;;) {
      await stream.write(Buffer.from('key'));
      await turns(random.below(4));
    }
  } catch {
    // The other side has gone.
  }
}

/** Returns the number of bytes; a reader that takes its time with each piece. */
async function readSlowly(stream: SpdyStream, random: Random): Promise<number> {
  let size = 0;
  for await (const piece of stream.read()) {
    size += piece.byteLength;
    await turns(random.below(6));
  }
  return size;
}

async function writeAll(stream: SpdyStream, size: number, random: Random): Promise<void> {
  for (let left = size; left > 0; ) {
    const bytes = Math.min(left, 1 + random.below(100_000));
    await stream.write(Buffer.alloc(bytes, 'x'));
    left -= bytes;
  }
  stream.end();
}

describe('output of a side that closes the connection after it', () => {
  test.each(['server', 'client'] as const)('reaches a slow reader who types: from the %s', async (writer) => {
    const random = createRandom();
    for (let round = 0; round < ROUNDS; round += 1) {
      const connections = await pair();
      const { output, input } = connections;
      const [readersOutput, writersOutput] = writer === 'server' ? output : [output[1], output[0]];
      const [readersInput, writersInput] = writer === 'server' ? input : [input[1], input[0]];
      const size = random.below(random.below(2) === 0 ? 2000 : 6_000_000);
      const typing = type(readersInput, random);
      const ignoring = readSlowly(writersInput, random);
      const reading = readSlowly(readersOutput, random);
      await writeAll(writersOutput, size, random);
      connections[writer].close();
      expect(await reading, `seed ${random.seed}`).toBe(size);
      connections[writer === 'server' ? 'client' : 'server'].close();
      await Promise.all([typing, ignoring]);
    }
  });
});

test('a connection that was broken still passes on what it had received', async () => {
  const [own, peer] = await sockets();
  const accepted = Promise.withResolvers<SpdyStream>();
  createSpdyConnection(peer, { role: 'server', onStream: accepted.resolve });
  const client = createSpdyConnection(own, { role: 'client' });
  const stream = client.open({});
  await stream.accepted;
  const writing = (await accepted.promise).write(Buffer.alloc(32 * 1024 * 1024)).catch(() => undefined);
  while (!own.isPaused() || own.readableLength === 0) await turns(1);
  const received = own.bytesRead;
  own.destroy(new Error('broken'));
  let size = 0;
  const read = async (): Promise<void> => {
    for await (const piece of stream.read()) size += piece.byteLength;
  };
  await expect(read()).rejects.toThrow('broken');
  // The rest are heads of frames, and one that is not complete.
  expect(received - size).toBeLessThan(40_000);
  peer.destroy();
  await writing;
});
