/** Session of exec or attach: connects the streams of a client with a process, and reports its exit status.
 *  Source: the remote command subprotocol, version 4, of the streaming servers of CRI runtimes. */
import { asError } from '#api/kit/errno.ts';
import { isObject } from '#api/kit/object.ts';
import type { SpdyConnection } from '#api/spdy/connection.ts';
import type { SpdyStream } from '#api/spdy/stream.ts';
import { REMOTE_COMMAND_V4 } from '#api/vocabulary.ts';
import { type ContainerProcess, startFailure } from './process.ts';
import type { StreamingSession } from './server.ts';

export interface CommandSpec {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

type Streams = Readonly<Partial<Record<'error' | 'stdin' | 'stdout' | 'stderr' | 'resize', SpdyStream>>>;
type StreamName = keyof Streams;

const NAMES: readonly StreamName[] = ['error', 'stdin', 'stdout', 'stderr', 'resize'];
const LONGEST_SIZE = 1024;
/** Start of an output that may be docker's error in place of the program's. */
const START_BYTES = 4096;

const nameOf = (stream: SpdyStream): StreamName | undefined =>
  NAMES.find((name) => name === stream.headers['streamtype']?.[0]);

/** Formats the status at the end of a session. Pure. */
export function formatExit(exitCode: number, failure: string | undefined): string {
  if (failure !== undefined) {
    return JSON.stringify({
      metadata: {},
      status: 'Failure',
      reason: 'InternalError',
      message: failure,
      code: 500,
    });
  }
  if (exitCode === 0) return JSON.stringify({ metadata: {}, status: 'Success' });
  const message = `command terminated with non-zero exit code: exit status ${exitCode}`;
  const details = { causes: [{ reason: 'ExitCode', message: String(exitCode) }] };
  return JSON.stringify({ metadata: {}, status: 'Failure', reason: 'NonZeroExitCode', message, details });
}

async function collect(arriving: AsyncIterator<SpdyStream>, spec: CommandSpec): Promise<Streams> {
  const expected: readonly StreamName[] = [
    'error',
    ...(['stdin', 'stdout'] as const).filter((name) => spec[name]),
    ...(spec.stderr && !spec.tty ? (['stderr'] as const) : []),
    ...(spec.tty ? (['resize'] as const) : []),
  ];
  const streams: Partial<Record<StreamName, SpdyStream>> = {};
  while (expected.some((name) => streams[name] === undefined)) {
    const next = await arriving.next();
    if (next.done === true) break;
    const name = nameOf(next.value);
    if (name === undefined) next.value.reset();
    else streams[name] = next.value;
  }
  return streams;
}

async function pumpInput(from: SpdyStream | undefined, into: ContainerProcess): Promise<void> {
  if (from === undefined) return;
  for await (const bytes of from.read()) await into.write(bytes);
  into.endInput();
}

async function pumpSizes(from: SpdyStream | undefined, into: ContainerProcess): Promise<void> {
  if (from === undefined) return;
  let text = '';
  for await (const bytes of from.read()) {
    text = (text + Buffer.from(bytes).toString('utf8')).slice(-LONGEST_SIZE);
    const lines = text.split('\n');
    text = lines.pop() ?? '';
    const size = parseSize(lines.at(-1) ?? '');
    // The process may have ended.
    if (size !== undefined) await into.resize(size).catch(() => undefined);
  }
}

/** Undefined for anything but positive sizes. */
export function parseSize(line: string): { readonly width: number; readonly height: number } | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return undefined;
  }
  if (!isObject(value)) return undefined;
  const { Width: width, Height: height } = value;
  const isSize = (size: unknown): size is number => typeof size === 'number' && size > 0 && size < 65_536;
  return isSize(width) && isSize(height) ? { width, height } : undefined;
}

async function pumpOutput(from: ContainerProcess, streams: Streams): Promise<string> {
  let start = '';
  for await (const { stream, bytes } of from.output()) {
    if (start.length < START_BYTES) start += Buffer.from(bytes).toString('utf8').slice(0, START_BYTES);
    await streams[stream]?.write(bytes);
  }
  return start;
}

async function converse(started: ContainerProcess, streams: Streams): Promise<void> {
  // A client that leaves ends its input; the process gets its end.
  pumpInput(streams.stdin, started).catch(() => started.endInput());
  pumpSizes(streams.resize, started).catch(() => undefined);
  const start = await pumpOutput(started, streams);
  const exitCode = await started.exitCode();
  const text = formatExit(exitCode, startFailure(exitCode, start));
  await streams.error?.write(Buffer.from(text));
}

/** @param start starts the process when the client has opened its streams */
export function commandSession(spec: CommandSpec, start: () => Promise<ContainerProcess>): StreamingSession {
  return {
    protocols: [REMOTE_COMMAND_V4],
    async run(arriving, connection: SpdyConnection) {
      const iterator = arriving[Symbol.asyncIterator]();
      const streams = await collect(iterator, spec);
      let started: ContainerProcess | undefined;
      try {
        started = await start();
        const running = started;
        void connection.closed.then(() => running.close());
        await converse(running, streams);
      } catch (thrown) {
        const text = formatExit(0, asError(thrown).message);
        await streams.error?.write(Buffer.from(text)).catch(() => undefined);
      } finally {
        started?.close();
        for (const name of NAMES) streams[name]?.end();
        await iterator.return?.();
      }
    },
  };
}
