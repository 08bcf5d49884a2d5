/** Reads the log of one container, and follows it through rotations until the container has stopped.
 *  Does not query the runtime: the caller reports when the container stopped. */
import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type Clock, sleep, systemClock } from '#api/kit/clock.ts';
import { type DirChanges, watchDir } from './dir-changes.ts';
import { createLogFormatter, type FormatOptions, type LogChunk, type LogFormatter } from './format.ts';
import { type OpenFile, openRegularFile } from './open-log.ts';
import { openSuccessor } from './successor.ts';
import { findTailOffset } from './tail-offset.ts';

export interface ReadLogsOptions extends FormatOptions {
  /** Continue with later output. */
  readonly follow?: boolean | undefined;
  /** Start with the last lines of the current file. */
  readonly tailLines?: number | undefined;
  /** Skip lines older than this many seconds; `sinceMs` takes precedence. */
  readonly sinceSeconds?: number | undefined;
  /** Fires when the container has stopped: a follower reads the rest and ends. */
  readonly stopped?: AbortSignal | undefined;
  /** Directory that must contain the real file: the pod logs directory. */
  readonly root?: string | undefined;
  /** Clock for `sinceSeconds` and for the pause at a rotation; default the system clock. */
  readonly clock?: Clock | undefined;
}

const BLOCK_BYTES = 64 * 1024;
/** Long compared with the milliseconds that a runtime needs, short compared with the 10 s between rotations. */
const LATE_WRITES_MS = 50;

interface Cursor {
  opened: OpenFile;
  offset: number;
  /** Where reading ends: a reader that does not follow gets the log as it was when it was opened, however fast the
   *  container writes. */
  readonly end: number;
}

async function openAt(path: string, options: ReadLogsOptions): Promise<Cursor> {
  const opened = await openRegularFile(path, options.root);
  const end = options.follow === true ? Number.POSITIVE_INFINITY : opened.sizeBytes;
  if (options.tailLines === undefined) return { opened, offset: 0, end };
  return { opened, offset: await findTailOffset(opened.file, opened.sizeBytes, options.tailLines), end };
}

async function isGone(dir: string): Promise<boolean> {
  return await stat(dir).then(
    () => false,
    () => true,
  );
}

async function* readToEnd(
  cursor: Cursor,
  formatter: LogFormatter,
  signal: AbortSignal,
): AsyncGenerator<LogChunk> {
  const block = Buffer.alloc(BLOCK_BYTES);
  while (!formatter.isFull()) {
    signal.throwIfAborted();
    const wantedBytes = Math.min(BLOCK_BYTES, cursor.end - cursor.offset);
    if (wantedBytes <= 0) return;
    const { bytesRead } = await cursor.opened.file.read(block, 0, wantedBytes, cursor.offset);
    if (bytesRead === 0) return;
    cursor.offset += bytesRead;
    yield* formatter.feed(block.subarray(0, bytesRead));
  }
}

/** Reads the rest of the current file and continues with its successor. */
async function* switchTo(
  successor: OpenFile,
  cursor: Cursor,
  formatter: LogFormatter,
  clock: Clock,
  signal: AbortSignal,
): AsyncGenerator<LogChunk> {
  try {
    yield* readToEnd(cursor, formatter, signal);
    // The runtime creates the new file first, then switches its writers one by one; data that they have
    // buffered still goes to the old file, and nothing reports when that is done.
    await sleep(clock, LATE_WRITES_MS, signal);
    yield* readToEnd(cursor, formatter, signal);
    yield* formatter.end();
  } finally {
    await cursor.opened.file.close();
    cursor.opened = successor;
    cursor.offset = 0;
  }
}

/** Continues with the file that replaced the current one, or at the start after a truncation. Returns whether
 *  either happened. An empty successor must wait: the runtime may not be writing to it yet. */
async function* followRotation(
  cursor: Cursor,
  path: string,
  options: ReadLogsOptions & { readonly isStopped: boolean },
  formatter: LogFormatter,
  signal: AbortSignal,
): AsyncGenerator<LogChunk, boolean> {
  const successor = await openSuccessor(path, cursor.opened.identity, options.root);
  if (successor !== undefined) {
    if (successor.sizeBytes > 0 || options.isStopped) {
      yield* switchTo(successor, cursor, formatter, options.clock ?? systemClock, signal);
      return true;
    }
    await successor.file.close();
  }
  const { size } = await cursor.opened.file.stat();
  if (size >= cursor.offset) return false;
  cursor.offset = 0;
  yield* formatter.end();
  return true;
}

function formatOptions(options: ReadLogsOptions): FormatOptions {
  const { sinceMs, sinceSeconds, clock = systemClock } = options;
  const since = sinceMs ?? (sinceSeconds === undefined ? undefined : clock.now() - sinceSeconds * 1000);
  return { sinceMs: since, timestamps: options.timestamps, limitBytes: options.limitBytes };
}

/** Yields the output of the container, stream by stream. Ends where the file ended when it was opened; with `follow`, when
 *  `stopped` has fired and everything was read, when `limitBytes` have been yielded, or when the log
 *  directory is removed.
 *  @throws {LogFileError} when the log does not exist, or is not a regular file inside `root`
 *  @throws the signal's reason when it fires */
export async function* readLogs(
  path: string,
  options: ReadLogsOptions,
  signal: AbortSignal,
): AsyncGenerator<LogChunk> {
  signal.throwIfAborted();
  const formatter = createLogFormatter(formatOptions(options));
  const cursor = await openAt(path, options);
  const wakers = options.stopped === undefined ? [signal] : [signal, options.stopped];
  let changes: DirChanges | undefined;
  try {
    if (options.follow === true) changes = watchDir(dirname(path), wakers);
    for (;;) {
      // Checked before reading, so that everything written before the stop is read.
      const isStopped = options.stopped?.aborted ?? false;
      yield* readToEnd(cursor, formatter, signal);
      if (formatter.isFull()) return;
      if (changes === undefined) break;
      if (yield* followRotation(cursor, path, { ...options, isStopped }, formatter, signal)) continue;
      if (isStopped || (await isGone(dirname(path)))) break;
      await changes.next();
      signal.throwIfAborted();
    }
    yield* formatter.end();
  } finally {
    changes?.close();
    await cursor.opened.file.close();
  }
}
