/** Writes the CRI log of one container from docker's own log file. Docker writes that file whether or not this
 *  process runs, so that nothing is lost between restarts. Waits for changes of the file; never polls. */
import { constants, type FSWatcher, watch } from 'node:fs';
import { type FileHandle, mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { asError } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import { convertLine } from './json-line.ts';
import { createUnwritten, findPosition, trimUnfinished } from './resume.ts';
import { createSourceFile } from './source-file.ts';

export interface FollowerOptions {
  readonly log: Logger;
  /** Docker's log file. */
  readonly source: string;
  /** CRI log. */
  readonly target: string;
}

export interface LogFollower {
  /** Starts the log again under its name, after it was renamed. */
  reopen(): Promise<void>;
  /** Writes everything that docker has written, and ends. Idempotent. */
  complete(): Promise<void>;
  /** Ends without reading on. Idempotent. */
  close(): Promise<void>;
}

const BLOCK_BYTES = 64 * 1024;
const NEWLINE = 0x0a;
const TARGET_FLAGS = constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND | constants.O_NOFOLLOW;

async function openTarget(path: string): Promise<FileHandle> {
  await mkdir(dirname(path), { recursive: true, mode: 0o755 });
  return open(path, TARGET_FLAGS, 0o640);
}

/** Resolves when the log exists and is followed. */
export async function followLog({ log, source: path, target }: FollowerOptions): Promise<LogFollower> {
  const position = await findPosition(target);
  let file = await openTarget(target);
  await trimUnfinished(file, target);
  const isUnwritten = createUnwritten(position);
  const source = createSourceFile(path);
  const block = Buffer.allocUnsafe(BLOCK_BYTES);
  let rest: Buffer = Buffer.alloc(0);
  let isClosed = false;
  let tail: Promise<void> = Promise.resolve();
  let isDirty = false;

  function convert(bytes: Buffer): string {
    const data = Buffer.concat([rest, bytes]);
    const end = data.lastIndexOf(NEWLINE) + 1;
    rest = data.subarray(end);
    const lines = data.toString('utf8', 0, end).split('\n');
    return lines
      .map((line) => (line === '' ? undefined : convertLine(line)))
      .filter((line) => line !== undefined && isUnwritten(line.time))
      .map((line) => line?.text ?? '')
      .join('');
  }

  async function copy(): Promise<void> {
    for (let bytes = await source.read(block); bytes > 0; bytes = await source.read(block)) {
      const text = convert(block.subarray(0, bytes));
      if (text !== '') await file.write(text);
    }
  }

  /** Runs tasks one after the other. */
  function enqueue(task: () => Promise<void>): Promise<void> {
    const run = tail.then(task);
    tail = run.catch(() => undefined);
    return run;
  }

  function wake(): void {
    if (isDirty || isClosed) return;
    isDirty = true;
    enqueue(() => {
      isDirty = false;
      return isClosed ? Promise.resolve() : copy();
    }).catch((thrown: unknown) =>
      log.warn({ err: asError(thrown), target }, 'Failed to write container log'),
    );
  }

  let watcher: FSWatcher | undefined;
  async function close(): Promise<void> {
    if (isClosed) return;
    isClosed = true;
    watcher?.close();
    await enqueue(async () => {
      await source.close();
      await file.close();
    });
  }

  try {
    watcher = watch(dirname(path), { persistent: false }, wake);
    // The directory of a removed container.
    watcher.on('error', () => undefined);
  } catch (thrown) {
    log.warn({ err: asError(thrown), source: path }, 'Failed to watch container log');
  }
  wake();
  return {
    reopen: () =>
      enqueue(async () => {
        const next = await openTarget(target);
        await file.close();
        file = next;
      }),
    async complete() {
      if (isClosed) return;
      watcher?.close();
      await enqueue(copy);
      await close();
    },
    close,
  };
}
