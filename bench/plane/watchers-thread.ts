/** The thread of `watchers.ts`. */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { get } from 'node:https';
import { setTimeout as wait } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { createGunzip } from 'node:zlib';
import { openStream, streamRequestBytes, type Target } from './http-client.ts';
import type { WatchersOptions, WatchersSeen } from './watchers.ts';

/** Watchers whose events are counted and timed. The others must get the same bytes: looking into them as well would
 *  measure this program. */
const READ_WATCHERS = 5;
/** Until the last event must have come. */
const LAST_EVENT_MS = 10_000;

const ADDED = Buffer.from('"type":"ADDED"');
const NAME = Buffer.from('"name":"');

/** The first name after the offset, if it came with the same bytes. */
function nameAfter(bytes: Buffer, at: number): string {
  const start = bytes.indexOf(NAME, at);
  if (start < 0) return '';
  return bytes.toString('latin1', start + NAME.length, bytes.indexOf('"', start + NAME.length));
}

/** Calls `onEvent` for each event of a watcher's pieces, with its name where that is in the same piece. */
function createReader(onEvent: (name: string) => void): (bytes: Buffer) => void {
  // Pieces end anywhere, also within what is looked for.
  let tail = Buffer.alloc(0);
  return (bytes) => {
    const seam = Buffer.concat([tail, bytes.subarray(0, ADDED.length - 1)]);
    if (seam.includes(ADDED)) onEvent('');
    tail = Buffer.from(bytes.subarray(-(ADDED.length - 1)));
    for (let at = bytes.indexOf(ADDED); at >= 0; at = bytes.indexOf(ADDED, at + ADDED.length)) {
      onEvent(nameAfter(bytes, at));
    }
  };
}

async function untilTrue(isTrue: () => boolean | Promise<boolean>, withinMs: number): Promise<void> {
  const endMs = performance.now() + withinMs;
  while (!(await isTrue()) && performance.now() < endMs) await wait(20);
}

const ignore = (): void => undefined;

/** What a watcher was sent, and when each piece came. */
interface Recording {
  /** Tells of the events in what has come since the last time, with the time at which they came. */
  readonly play: (onEvent: (name: string, atMs: number) => void) => Promise<void>;
  readonly close: () => void;
}

/** Reads a stream as any client does: decrypted, put together from its chunks. It is decompressed and looked into when
 *  it is played: what that takes is not the server's. */
async function record({ port, ...credentials }: Target, path: string): Promise<Recording> {
  const request = get({
    ...credentials,
    port,
    host: '127.0.0.1',
    servername: 'localhost',
    path,
    headers: { Accept: 'application/json', 'Accept-Encoding': 'gzip' },
    agent: false,
  });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  request.on('error', ignore);
  response.on('error', ignore);
  let pieces: { readonly bytes: Buffer; readonly atMs: number }[] = [];
  response.on('data', (bytes: Buffer) => {
    pieces.push({ bytes, atMs: performance.timeOrigin + performance.now() });
  });
  let tell: (name: string) => void = ignore;
  const read = createReader((name) => tell(name));
  const gunzip = createGunzip().on('data', read).on('error', ignore);
  const isCompressed = response.headers['content-encoding'] === 'gzip';
  return {
    async play(onEvent) {
      const all = pieces;
      pieces = [];
      for (const { bytes, atMs } of all) {
        tell = (name) => onEvent(name, atMs);
        if (isCompressed) await new Promise<unknown>((resolve) => gunzip.write(bytes, resolve));
        else read(bytes);
      }
    },
    close() {
      request.destroy();
      gunzip.destroy();
    },
  };
}

async function watch({
  target,
  path,
  count,
  expected,
}: WatchersOptions): Promise<() => Promise<WatchersSeen>> {
  const received = Array.from({ length: count - READ_WATCHERS }, () => 0);
  const arrivals: (readonly [string, number])[] = [];
  const wanted = expected * READ_WATCHERS;
  const watchPath = `${path}?watch=1`;
  const recordings = await Promise.all(
    Array.from({ length: READ_WATCHERS }, () => record(target, watchPath)),
  );
  const closers = await Promise.all(
    received.keys().map((index) =>
      openStream(target, streamRequestBytes(watchPath), (bytes) => {
        received[index] = (received[index] ?? 0) + bytes.length;
      }),
    ),
  );
  // The heads of their answers.
  await untilTrue(() => received.every((size) => size > 0), LAST_EVENT_MS);
  /** Less than one event of all: pieces may be cut differently. */
  const isSteady = (): boolean => Math.min(...received) >= Math.max(...received) * (1 - 1 / (2 * expected));

  /** Whether all is there. */
  async function isDone(): Promise<boolean> {
    for (const { play } of recordings) await play((name, atMs) => void arrivals.push([name, atMs]));
    return arrivals.length >= wanted && isSteady();
  }

  function faultOf(): string | undefined {
    if (arrivals.length !== wanted) return `${arrivals.length} events instead of ${wanted}`;
    if (isSteady()) return undefined;
    return `watchers got between ${Math.min(...received)} and ${Math.max(...received)} bytes`;
  }

  return async () => {
    await untilTrue(isDone, LAST_EVENT_MS);
    for (const close of closers) close();
    for (const { close } of recordings) close();
    return { fault: faultOf(), arrivals };
  };
}

if (parentPort === null) throw new Error('this is a thread');
const port = parentPort;
const end = await watch(workerData as WatchersOptions);
port.once('message', () => {
  void end().then((seen) => port.postMessage(seen, []));
});
port.postMessage('watching', []);
