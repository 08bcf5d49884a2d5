/** Thread of `watchers.ts`. */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { get } from 'node:https';
import { setTimeout as wait } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { createGunzip } from 'node:zlib';
import { openStream, streamRequestBytes, type Target } from './http-client.ts';
import type { WatchersOptions, WatchersSeen } from './watchers.ts';

/** Number of watchers whose events are counted and timed. The others must receive the same bytes; parsing
 *  them too would measure this program. */
const READ_WATCHERS = 5;
/** Timeout for the last event. */
const LAST_EVENT_MS = 10_000;

const ADDED = Buffer.from('"type":"ADDED"');
const NAME = Buffer.from('"name":"');

/** Returns the first name after the offset, if it is in the same piece. */
function nameAfter(bytes: Buffer, at: number): string {
  const start = bytes.indexOf(NAME, at);
  if (start < 0) return '';
  return bytes.toString('latin1', start + NAME.length, bytes.indexOf('"', start + NAME.length));
}

/** Calls `onEvent` for each event in a watcher's pieces, with its name if that is in the same piece. */
function createReader(onEvent: (name: string) => void): (bytes: Buffer) => void {
  // Pieces may end anywhere, even within the searched text.
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

/** Bytes that a watcher received, with the time of each piece. */
interface Recording {
  /** Reports the events received since the last call, with their times. */
  readonly play: (onEvent: (name: string, atMs: number) => void) => Promise<void>;
  readonly close: () => void;
}

/** Reads a stream as any client does: decrypted and dechunked. Decompression and parsing happen during
 *  playback, since their cost is not the server's. */
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
  let notify: (name: string) => void = ignore;
  const read = createReader((name) => notify(name));
  const gunzip = createGunzip().on('data', read).on('error', ignore);
  const isCompressed = response.headers['content-encoding'] === 'gzip';
  return {
    async play(onEvent) {
      const all = pieces;
      pieces = [];
      for (const { bytes, atMs } of all) {
        notify = (name) => onEvent(name, atMs);
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
  // The response heads.
  await untilTrue(() => received.every((size) => size > 0), LAST_EVENT_MS);
  /** Less than one event in total: pieces may be cut differently. */
  const isSteady = (): boolean => Math.min(...received) >= Math.max(...received) * (1 - 1 / (2 * expected));

  /** Reports whether everything has arrived. */
  async function isDone(): Promise<boolean> {
    for (const { play } of recordings) await play((name, atMs) => void arrivals.push([name, atMs]));
    return arrivals.length >= wanted && isSteady();
  }

  function errorOf(): string | undefined {
    if (arrivals.length !== wanted) return `${arrivals.length} events instead of ${wanted}`;
    if (isSteady()) return undefined;
    return `watchers received between ${Math.min(...received)} and ${Math.max(...received)} bytes`;
  }

  return async () => {
    await untilTrue(isDone, LAST_EVENT_MS);
    for (const close of closers) close();
    for (const { close } of recordings) close();
    return { error: errorOf(), arrivals };
  };
}

if (parentPort === null) throw new Error('this is a thread');
const port = parentPort;
const end = await watch(workerData as WatchersOptions);
port.once('message', () => {
  void end().then((seen) => port.postMessage(seen, []));
});
port.postMessage('watching', []);
