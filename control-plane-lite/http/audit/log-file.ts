/** Appends lines to a file that is replaced by a fresh one when it has grown, keeping some of the old ones. Lines wait
 *  in memory while the disk is busy, within a bound; beyond it they are dropped and counted, never waited for. */
import { type FileHandle, open, readdir, rename, unlink } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import { asError, type Clock } from '#api/kit/clock.ts';

export interface LogFileOptions {
  readonly path: string;
  /** `--audit-log-maxsize`, in bytes. Default 100 MiB. */
  readonly maxBytes?: number;
  /** `--audit-log-maxbackup`. Default 0: all. */
  readonly maxBackups?: number;
  /** `--audit-log-maxage`, in ms. Default 0: for ever. */
  readonly maxAgeMs?: number;
  /** Bytes that may wait. Default 64 MiB. */
  readonly maxWaitingBytes?: number;
}

export interface LogFileDeps {
  readonly clock: Clock;
  readonly onError: (error: Error, lost: number) => void;
}

export interface LineWriter {
  /** False: there was no room, and the line is lost. */
  write(line: string): boolean;
  /** Resolves when everything is written. */
  close(): Promise<void>;
}

/** Files that were the log before, oldest first. Their names have the time at which they were replaced. */
async function listBackups(path: string): Promise<readonly string[]> {
  const extension = extname(path);
  const prefix = `${basename(path, extension)}-`;
  const stamp = /^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}$/;
  const names = await readdir(dirname(path));
  return names
    .filter((name) => name.startsWith(prefix) && name.endsWith(extension))
    .filter((name) => stamp.test(name.slice(prefix.length, name.length - extension.length)))
    .sort();
}

/** Name of the file that the log becomes at this time. */
export function backupPath(path: string, nowMs: number): string {
  const extension = extname(path);
  const stamp = new Date(nowMs).toISOString().replaceAll(':', '-').slice(0, -1);
  return join(dirname(path), `${basename(path, extension)}-${stamp}${extension}`);
}

function backupTime(name: string, extension: string): number {
  const stamp = name.slice(0, name.length - extension.length).slice(-23);
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

/** Opens the file, or makes it, for its owner alone.
 *  @throws Error if that can't be done */
export async function openLogFile(deps: LogFileDeps, options: LogFileOptions): Promise<LineWriter> {
  const { path, maxBytes = 100 * 1024 * 1024, maxWaitingBytes = 64 * 1024 * 1024 } = options;
  let file: FileHandle = await open(path, 'a', 0o600);
  let size = (await file.stat()).size;
  let waiting: string[] = [];
  let waitingBytes = 0;
  let writing: Promise<void> | undefined;

  async function replace(): Promise<void> {
    const nowMs = deps.clock.now();
    await file.close();
    await rename(path, backupPath(path, nowMs));
    file = await open(path, 'a', 0o600);
    size = 0;
    await prune(options, nowMs);
  }

  async function writeWaiting(): Promise<void> {
    while (waiting.length > 0) {
      const lines = waiting;
      waiting = [];
      waitingBytes = 0;
      const bytes = Buffer.from(lines.join(''));
      try {
        if (size > 0 && size + bytes.length > maxBytes) await replace();
        await file.appendFile(bytes);
        size += bytes.length;
      } catch (error) {
        deps.onError(asError(error), lines.length);
      }
    }
    writing = undefined;
  }

  return {
    write(line) {
      const bytes = line.length + 1;
      if (waitingBytes + bytes > maxWaitingBytes) return false;
      waitingBytes += bytes;
      waiting.push(`${line}\n`);
      writing ??= writeWaiting();
      return true;
    },
    async close() {
      await writing;
      await file.close();
    },
  };
}

/** Writes lines to a stream such as standard output, as long as its reader keeps up. */
export function createStreamWriter(
  stream: { write(text: string): boolean; readonly writableLength: number },
  maxWaitingBytes: number = 64 * 1024 * 1024,
): LineWriter {
  return {
    write(line) {
      if (stream.writableLength > maxWaitingBytes) return false;
      stream.write(`${line}\n`);
      return true;
    },
    close: () => Promise.resolve(),
  };
}
