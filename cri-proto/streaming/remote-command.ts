/** Runs one exec or attach session against the streaming server of the runtime. Does not know pods. */
import { asError } from '#api/kit/errno.ts';
import { createSpdyConnection, type SpdyConnection } from '#api/spdy/connection.ts';
import type { SpdyStream } from '#api/spdy/stream.ts';
import { REMOTE_COMMAND_V4 } from '#api/vocabulary.ts';
import { parseExitStatus } from './exit-status.ts';
import { encodeSize, pump } from './pump.ts';
import type { OutputSink, RemoteCommandOptions, RemoteCommandResult } from './session.ts';
import { upgradeToSpdy } from './upgrade.ts';

/** Maximum size of a status, which has some hundred bytes. */
const LARGEST_STATUS_BYTES = 64 * 1024;

interface Streams {
  readonly error: SpdyStream;
  readonly stdin: SpdyStream | undefined;
  readonly stdout: SpdyStream | undefined;
  readonly stderr: SpdyStream | undefined;
  readonly resize: SpdyStream | undefined;
}

async function openStreams(connection: SpdyConnection, options: RemoteCommandOptions): Promise<Streams> {
  const open = (streamType: string): SpdyStream => connection.open({ streamtype: [streamType] });
  const streams: Streams = {
    error: open('error'),
    stdin: options.stdin === undefined ? undefined : open('stdin'),
    stdout: options.stdout === undefined ? undefined : open('stdout'),
    stderr: options.stderr === undefined || options.tty ? undefined : open('stderr'),
    // With a terminal the server waits for this stream even if no size is ever sent.
    resize: options.tty ? open('resize') : undefined,
  };
  const { error, stdin, stdout, stderr, resize } = streams;
  const opened = [error, stdin, stdout, stderr, resize].filter((stream) => stream !== undefined);
  await Promise.all(opened.map((stream) => stream.accepted));
  return streams;
}

async function readText(stream: SpdyStream): Promise<string> {
  const parts: Uint8Array[] = [];
  let leftBytes = LARGEST_STATUS_BYTES;
  for await (const part of stream.read()) {
    parts.push(part.subarray(0, leftBytes));
    leftBytes = Math.max(0, leftBytes - part.byteLength);
  }
  return Buffer.concat(parts).toString('utf8');
}

async function drain(stream: SpdyStream | undefined, sink: OutputSink | undefined): Promise<void> {
  if (stream === undefined || sink === undefined) return;
  for await (const chunk of stream.read()) await sink(chunk);
}

async function runSession(
  connection: SpdyConnection,
  options: RemoteCommandOptions,
): Promise<RemoteCommandResult> {
  const streams = await openStreams(connection, options);
  const over = new AbortController();
  const inputs: Promise<void>[] = [];
  if (options.stdin !== undefined && streams.stdin !== undefined) {
    inputs.push(pump(options.stdin, (bytes) => bytes, streams.stdin, over.signal));
  }
  if (options.resize !== undefined && streams.resize !== undefined) {
    inputs.push(pump(options.resize, encodeSize, streams.resize, over.signal));
  }
  // A failing source ends the session immediately, not when the command happens to exit.
  for (const input of inputs) input.catch((thrown: unknown) => connection.destroy(asError(thrown)));
  try {
    const [status] = await Promise.all([
      readText(streams.error),
      drain(streams.stdout, options.stdout),
      drain(streams.stderr, options.stderr),
    ]);
    return { exitCode: parseExitStatus(status), detached: false };
  } finally {
    over.abort();
    // Aborts pending writes; the command will not read them any more.
    connection.close();
    await Promise.allSettled(inputs);
  }
}

/** Runs a session from its URL to the end of the command, with subprotocol v4 over SPDY.
 *  @throws {StreamingError} when the server is unreachable or rejects the session
 *  @throws {RemoteCommandError} when the command could not be run or its result is unknown
 *  @throws errors of a source or sink; the reason of `signal` */
export async function execStream(url: string, options: RemoteCommandOptions): Promise<RemoteCommandResult> {
  const { signal, detach } = options;
  signal.throwIfAborted();
  const { socket, head } = await upgradeToSpdy({ url, protocols: [REMOTE_COMMAND_V4], signal });
  const connection = createSpdyConnection(socket, { role: 'client', head });
  const onAbort = (): void => connection.destroy(asError(signal.reason));
  const onDetach = (): void => connection.close();
  signal.addEventListener('abort', onAbort, { once: true });
  detach?.addEventListener('abort', onDetach, { once: true });
  try {
    if (detach?.aborted === true) return { exitCode: 0, detached: true };
    return await runSession(connection, options);
  } catch (thrown) {
    if (detach?.aborted === true) return { exitCode: 0, detached: true };
    signal.throwIfAborted();
    throw thrown;
  } finally {
    signal.removeEventListener('abort', onAbort);
    detach?.removeEventListener('abort', onDetach);
    connection.close();
  }
}
