/** Audit log writer: appends lines to a file with rotation and retention, or to an open descriptor such as
 *  standard output. Lines wait in a bounded buffer while the sink is busy; beyond the bound they are dropped
 *  and counted, never waited for. */
import { createReadStream, createWriteStream, write } from 'node:fs';
import { type FileHandle, open, readdir, rename, unlink } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { type Clock, sleep } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';

export interface LogFileOptions {
  readonly path: string;
  /** `--audit-log-maxsize`, in bytes. Default 100 MiB. */
  readonly maxBytes?: number;
  /** `--audit-log-maxbackup`. Default 0: all. */
  readonly maxBackups?: number;
  /** `--audit-log-maxage`, in ms. Default 0: unlimited. */
  readonly maxAgeMs?: number;
  /** `--audit-log-compress`: rotated files are compressed. */
  readonly compress?: boolean;
  /** Maximum number of buffered bytes. Default 64 MiB. */
  readonly maxWaitingBytes?: number;
}

export interface LogFileDeps {
  readonly clock: Clock;
  readonly onError: (error: Error, lost: number) => void;
}

export interface LineWriter {
  /** Returns false if the buffer was full and the line was dropped. */
  write(line: string): boolean;
  /** Resolves once the line has been written. @throws Error if it could not be, or the buffer was full */
  written(line: string): Promise<void>;
  /** Resolves once everything has been written. */
  close(): Promise<void>;
}

const DEFAULT_WAITING_BYTES = 64 * 1024 * 1024;

interface LineQueueOptions {
  readonly append: (bytes: Buffer) => Promise<void>;
  readonly close: () => Promise<void>;
  readonly onError: (error: Error, lost: number) => void;
  readonly maxWaitingBytes: number;
}

/** Writes buffered lines in batches, one batch at a time. */
function createLineQueue(options: LineQueueOptions): LineWriter {
  let waiting: string[] = [];
  let waitingBytes = 0;
  let writing: Promise<void> | undefined;
  /** Of the lines that wait, if anyone waits for them. */
  let outcome: PromiseWithResolvers<void> | undefined;

  async function writeWaiting(): Promise<void> {
    while (waiting.length > 0) {
      const lines = waiting;
      waiting = [];
      waitingBytes = 0;
      const settled = outcome;
      outcome = undefined;
      try {
        await options.append(Buffer.from(lines.join('')));
        settled?.resolve();
      } catch (error) {
        settled?.reject(asError(error));
        options.onError(asError(error), settled === undefined ? lines.length : 0);
      }
    }
    writing = undefined;
  }

  function add(line: string): boolean {
    const bytes = line.length + 1;
    if (waitingBytes + bytes > options.maxWaitingBytes) return false;
    waitingBytes += bytes;
    waiting.push(`${line}\n`);
    writing ??= writeWaiting();
    return true;
  }

  return {
    write: add,
    written(line) {
      // Before the line is added, because an idle queue takes it at once.
      const { promise } = (outcome ??= Promise.withResolvers<void>());
      return add(line) ? promise : Promise.reject(new Error('the buffer of the log is full'));
    },
    async close() {
      await writing;
      await options.close();
    },
  };
}

const COMPRESSED = '.gz';
const uncompressed = (name: string): string =>
  name.endsWith(COMPRESSED) ? name.slice(0, -COMPRESSED.length) : name;

/** Replaces a rotated file by a compressed one. */
async function compressFile(path: string): Promise<void> {
  const partial = `${path}${COMPRESSED}.new`;
  await pipeline(createReadStream(path), createGzip(), createWriteStream(partial, { mode: 0o600 }));
  await rename(partial, path + COMPRESSED);
  await unlink(path);
}

/** Returns the rotated files, oldest first. Their names contain the time of the rotation. */
async function listBackups(path: string): Promise<readonly string[]> {
  const extension = extname(path);
  const prefix = `${basename(path, extension)}-`;
  const stamp = /^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}$/;
  const names = await readdir(dirname(path));
  return names
    .filter((name) => name.startsWith(prefix))
    .filter((name) => {
      const plain = uncompressed(name);
      return (
        plain.endsWith(extension) && stamp.test(plain.slice(prefix.length, plain.length - extension.length))
      );
    })
    .sort();
}

/** Returns the name that the log is rotated to at this time. */
export function backupPath(path: string, nowMs: number): string {
  const extension = extname(path);
  const stamp = new Date(nowMs).toISOString().replaceAll(':', '-').slice(0, -1);
  return join(dirname(path), `${basename(path, extension)}-${stamp}${extension}`);
}

function backupTime(name: string, extension: string): number {
  const plain = uncompressed(name);
  const stamp = plain.slice(0, plain.length - extension.length).slice(-23);
  const time = stamp.slice(11).replaceAll('-', ':');
  return Date.parse(`${stamp.slice(0, 10)}T${time}Z`);
}

async function prune(options: LogFileOptions, nowMs: number): Promise<void> {
  const { path, maxBackups = 0, maxAgeMs = 0 } = options;
  if (maxBackups === 0 && maxAgeMs === 0) return;
  const names = await listBackups(path);
  const surplus = maxBackups === 0 ? 0 : Math.max(0, names.length - maxBackups);
  const doomed = names.filter(
    (name, index) => index < surplus || (maxAgeMs > 0 && nowMs - backupTime(name, extname(path)) > maxAgeMs),
  );
  await Promise.all(doomed.map((name) => unlink(join(dirname(path), name))));
}

/** Opens or creates the file, accessible to its owner only.
 *  @throws Error if it can't be opened */
export async function openLogFile(deps: LogFileDeps, options: LogFileOptions): Promise<LineWriter> {
  const { path, maxBytes = 100 * 1024 * 1024, maxWaitingBytes = DEFAULT_WAITING_BYTES } = options;
  let file: FileHandle = await open(path, 'a', 0o600);
  let size = (await file.stat()).size;

  /** The old file stays in use if a new one cannot be created. */
  async function replace(): Promise<void> {
    const nowMs = deps.clock.now();
    try {
      const backup = backupPath(path, nowMs);
      await rename(path, backup);
      const old = file;
      file = await open(path, 'a', 0o600);
      size = 0;
      await old.close();
      if (options.compress === true) await compressFile(backup);
      await prune(options, nowMs);
    } catch (error) {
      deps.onError(asError(error), 0);
    }
  }

  return createLineQueue({
    async append(bytes) {
      if (size > 0 && size + bytes.length > maxBytes) await replace();
      await file.appendFile(bytes);
      size += bytes.length;
    },
    close: () => file.close(),
    onError: deps.onError,
    maxWaitingBytes,
  });
}

function writeSome(fd: number, bytes: Buffer, from: number): Promise<number> {
  return new Promise((resolve, reject) => {
    write(fd, bytes, from, bytes.length - from, null, (error, written) => {
      if (error === null) resolve(written);
      else if (error.code === 'EAGAIN') resolve(0);
      else reject(error);
    });
  });
}

/** Delay before a write to a descriptor that returned EAGAIN is retried, in ms. */
const RETRY_MS = 10;

/** Writes lines to a descriptor such as 1, standard output. A stream on it would block the process while the
 *  reader of a pipe is slow. */
export function createDescriptorWriter(
  deps: LogFileDeps,
  fd: number,
  maxWaitingBytes: number = DEFAULT_WAITING_BYTES,
): LineWriter {
  return createLineQueue({
    async append(bytes) {
      for (let from = 0; from < bytes.length; ) {
        const written = await writeSome(fd, bytes, from);
        from += written;
        if (written === 0) await sleep(deps.clock, RETRY_MS);
      }
    },
    close: () => Promise.resolve(),
    onError: deps.onError,
    maxWaitingBytes,
  });
}
