/** Exec and attach sessions over WebSocket, for streaming servers without SPDY. The first byte of each
 *  message is its channel. Version 4 of the subprotocol cannot close only the input; version 5 can.
 *  Source: the remote command subprotocols of the CRI runtimes' streaming servers. */
import { asError } from '#api/kit/errno.ts';
import { type ByteQueue, createByteQueue } from '#api/spdy/byte-queue.ts';
import { REMOTE_COMMAND_V4, REMOTE_COMMAND_V5 } from '#api/vocabulary.ts';
import { StreamingError } from './errors.ts';
import { parseExitStatus } from './exit-status.ts';
import { encodeSize, type InputStream, pump } from './pump.ts';
import type { OutputSink, RemoteCommandOptions, RemoteCommandResult } from './session.ts';

const CHANNELS = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4 } as const;
type OutputChannel = 'stdout' | 'stderr' | 'error';
/** Message that closes a channel; version 5 only. */
const CLOSE_CHANNEL = 255;
/** Maximum output that waits for its sinks. A WebSocket has no backpressure; a session above the limit is
 *  ended. */
const MOST_UNREAD_BYTES: number = 64 * 1024 * 1024;
const NORMAL_CLOSURE = 1000;

function openSocket(url: string, signal: AbortSignal): Promise<WebSocket> {
  return new Promise((resolve, reject) => {
    const parsed = URL.parse(url);
    if (parsed === null || !/^(?:http|ws)s?:$/.test(parsed.protocol)) {
      return reject(new StreamingError('the runtime returned a streaming URL that is not HTTP'));
    }
    parsed.protocol = parsed.protocol.replace('http', 'ws');
    const socket = new WebSocket(parsed, [REMOTE_COMMAND_V5, REMOTE_COMMAND_V4]);
    socket.binaryType = 'arraybuffer';
    const onAbort = (): void => {
      socket.close();
      reject(asError(signal.reason));
    };
    signal.addEventListener('abort', onAbort, { once: true });
    socket.addEventListener('open', () => {
      signal.removeEventListener('abort', onAbort);
      resolve(socket);
    });
    socket.addEventListener('error', () => {
      signal.removeEventListener('abort', onAbort);
      reject(new StreamingError('cannot open a WebSocket to the streaming server of the runtime'));
    });
  });
}

/** Distributes messages to one queue per channel; all end with the socket. */
function createOutputs(socket: WebSocket): Readonly<Record<OutputChannel, ByteQueue>> {
  let unreadBytes = 0;
  const onConsumed = (bytes: number): void => void (unreadBytes -= bytes);
  const queues = {
    stdout: createByteQueue(onConsumed),
    stderr: createByteQueue(onConsumed),
    error: createByteQueue(onConsumed),
  };
  const byNumber = new Map(
    (['stdout', 'stderr', 'error'] as const).map((name) => [CHANNELS[name], queues[name]] as const),
  );
  const all = Object.values(queues);
  socket.addEventListener('message', (event) => {
    const data: unknown = event.data;
    if (!(data instanceof ArrayBuffer) || data.byteLength === 0) return;
    const message = new Uint8Array(data);
    const queue = [...byNumber].find(([number]) => number === message[0])?.[1];
    if (queue === undefined) return;
    unreadBytes += message.byteLength - 1;
    queue.push(message.subarray(1));
    if (unreadBytes <= MOST_UNREAD_BYTES) return;
    for (const each of all) each.fail(new StreamingError('output arrived faster than it was consumed'));
    socket.close();
  });
  socket.addEventListener('close', () => {
    for (const queue of all) queue.end();
  });
  return queues;
}

function createInput(socket: WebSocket, channel: number): InputStream {
  return {
    write(bytes) {
      if (socket.readyState === WebSocket.OPEN) {
        const message = new Uint8Array(bytes.byteLength + 1);
        message[0] = channel;
        message.set(bytes, 1);
        socket.send(message);
      }
      // One turn of the event loop lets the socket send: input arrives far slower than it is sent.
      return new Promise((resolve) => setImmediate(resolve));
    },
    end() {
      if (socket.protocol !== REMOTE_COMMAND_V5 || socket.readyState !== WebSocket.OPEN) return;
      socket.send(new Uint8Array([CLOSE_CHANNEL, channel]));
    },
  };
}

async function drain(queue: ByteQueue, sink: OutputSink | undefined): Promise<void> {
  for await (const chunk of queue.iterate()) await sink?.(chunk);
}

async function runSession(socket: WebSocket, options: RemoteCommandOptions): Promise<RemoteCommandResult> {
  const outputs = createOutputs(socket);
  const over = new AbortController();
  const failed = Promise.withResolvers<never>();
  const inputs: Promise<void>[] = [];
  if (options.stdin !== undefined) {
    inputs.push(pump(options.stdin, (bytes) => bytes, createInput(socket, CHANNELS.stdin), over.signal));
  }
  if (options.tty && options.resize !== undefined) {
    inputs.push(pump(options.resize, encodeSize, createInput(socket, CHANNELS.resize), over.signal));
  }
  for (const input of inputs) input.catch(failed.reject);
  const status: Uint8Array[] = [];
  const ended = Promise.all([
    drain(outputs.error, (chunk) => void status.push(chunk)),
    drain(outputs.stdout, options.stdout),
    drain(outputs.stderr, options.stderr),
  ]);
  try {
    await Promise.race([ended, failed.promise]);
    return { exitCode: parseExitStatus(Buffer.concat(status).toString('utf8')), detached: false };
  } finally {
    over.abort();
    await Promise.allSettled(inputs);
  }
}

/** As `execStream`, over WebSocket. With a version 4 server the command does not receive the end of its
 *  input.
 *  @throws {StreamingError} {@link RemoteCommandError}, errors of a source or sink, the reason of `signal` */
export async function execWebSocket(
  url: string,
  options: RemoteCommandOptions,
): Promise<RemoteCommandResult> {
  const { signal, detach } = options;
  signal.throwIfAborted();
  const socket = await openSocket(url, signal);
  const close = (): void => socket.close(NORMAL_CLOSURE);
  signal.addEventListener('abort', close, { once: true });
  detach?.addEventListener('abort', close, { once: true });
  try {
    if (detach?.aborted === true) return { exitCode: 0, detached: true };
    return await runSession(socket, options);
  } catch (thrown) {
    if (detach?.aborted === true) return { exitCode: 0, detached: true };
    signal.throwIfAborted();
    throw thrown;
  } finally {
    signal.removeEventListener('abort', close);
    detach?.removeEventListener('abort', close);
    close();
  }
}
