/** Translates the streams of a command between a WebSocket client and a SPDY agent: for version 5 of the
 *  subprotocol, which lets a client close its input and which no upstream runtime speaks itself. The first
 *  byte of each message names its channel. */
import type { WebSocket } from 'ws';
import { asError } from '#api/kit/errno.ts';
import { createSpdyConnection, type SpdyConnection } from '#api/spdy/connection.ts';
import type { SpdyStream } from '#api/spdy/stream.ts';
import type { Dialed } from './dial-spdy.ts';
import { bytesOf } from './message-stream.ts';
import type { WantedStreams } from './pod-requests.ts';

const STDIN = 0;
const STDOUT = 1;
const STDERR = 2;
const ERROR = 3;
const RESIZE = 4;
/** A message that closes the named channel. */
const CLOSE = 255;
const NORMAL_CLOSURE = 1000;

export interface CommandStreams {
  readonly connection: SpdyConnection;
  /** From the client, by channel. */
  readonly inputs: ReadonlyMap<number, SpdyStream>;
  /** To the client, by channel. */
  readonly outputs: ReadonlyMap<number, SpdyStream>;
}

/** Opens the requested streams: the runtime waits for exactly those.
 *  @throws SpdyStreamError if the agent rejects one */
export async function openCommandStreams(
  { socket, head }: Dialed,
  wanted: WantedStreams,
): Promise<CommandStreams> {
  const connection = createSpdyConnection(socket, { role: 'client', head });
  const open = (streamType: string): SpdyStream => connection.open({ streamtype: [streamType] });
  const outputs = new Map([[ERROR, open('error')]]);
  const inputs = new Map<number, SpdyStream>();
  if (wanted.stdin) inputs.set(STDIN, open('stdin'));
  if (wanted.stdout) outputs.set(STDOUT, open('stdout'));
  if (wanted.stderr) outputs.set(STDERR, open('stderr'));
  if (wanted.tty) inputs.set(RESIZE, open('resize'));
  try {
    await Promise.all([...inputs.values(), ...outputs.values()].map((stream) => stream.accepted));
  } catch (thrown) {
    connection.destroy(asError(thrown));
    throw thrown;
  }
  return { connection, inputs, outputs };
}

async function takeMessage(message: Buffer, inputs: CommandStreams['inputs']): Promise<void> {
  const channel = message[0];
  if (channel === undefined) return;
  if (channel === CLOSE) return inputs.get(message[1] ?? CLOSE)?.end();
  await inputs.get(channel)?.write(message.subarray(1));
}

/** Forwards messages in order; applies the agent's backpressure to the client. */
function carryInput(client: WebSocket, inputs: CommandStreams['inputs']): void {
  let last: Promise<void> = Promise.resolve();
  client.on('message', (data) => {
    client.pause();
    const message = bytesOf(data);
    // A command that ends before it has read all its input is not a failure.
    last = last.then(() => takeMessage(message, inputs)).catch(() => undefined);
    void last.then(() => client.resume());
  });
  client.resume();
}

async function carryOutput(stream: SpdyStream, channel: number, client: WebSocket): Promise<void> {
  const name = Buffer.of(channel);
  for await (const chunk of stream.read()) {
    if (client.readyState !== client.OPEN) return;
    await new Promise<void>((resolve) => client.send(Buffer.concat([name, chunk]), () => resolve()));
  }
}

/** Runs until the command has ended and all its output was sent, or one side is gone. */
export async function translateCommand(
  client: WebSocket,
  { connection, inputs, outputs }: CommandStreams,
  signal: AbortSignal,
): Promise<void> {
  const stop = (): void => connection.close();
  client.once('close', stop);
  signal.addEventListener('abort', stop, { once: true });
  carryInput(client, inputs);
  try {
    await Promise.all([...outputs].map(([channel, stream]) => carryOutput(stream, channel, client)));
    client.close(NORMAL_CLOSURE);
  } catch {
    // The agent disconnected: the client, left without a status, reports a failure.
    client.terminate();
  } finally {
    signal.removeEventListener('abort', stop);
    connection.close();
  }
}
