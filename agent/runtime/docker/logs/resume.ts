/** Continues a CRI log after a restart: the last written line determines how much of docker's log is in it. */
import { constants } from 'node:fs';
import { type FileHandle, open, readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { hasCode } from '#api/kit/errno.ts';
import { parseTime } from '../client/parse.ts';

/** Lines that have been written already. */
export interface LogPosition {
  readonly timeNs: bigint;
  /** Number of written lines with exactly this time. */
  readonly count: number;
}

const BEGINNING: LogPosition = { timeNs: 0n, count: 0 };
/** Docker splits lines at 16 KiB, and several parts of a line have the same time. */
const TAIL_BYTES = 256 * 1024;
const NEWLINE = 0x0a;
const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

const timeOf = (line: string): bigint => parseTime(line.slice(0, Math.max(0, line.indexOf(' '))));

/** Returns the position after the last of these lines. */
export function positionAfter(text: string): LogPosition {
  const lines = text.split('\n').filter((line) => line !== '');
  const timeNs = timeOf(lines.at(-1) ?? '');
  if (timeNs === 0n) return BEGINNING;
  const other = lines.findLastIndex((line) => timeOf(line) !== timeNs);
  return { timeNs, count: lines.length - 1 - other };
}

async function readTail(file: FileHandle, size: number): Promise<Buffer> {
  const length = Math.min(size, TAIL_BYTES);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, size - length);
  return buffer.subarray(0, bytesRead);
}

async function positionIn(path: string): Promise<LogPosition> {
  let file: FileHandle;
  try {
    file = await open(path, READ);
  } catch (thrown) {
    if (hasCode(thrown, 'ENOENT', 'ELOOP')) return BEGINNING;
    throw thrown;
  }
  try {
    const tail = await readTail(file, (await file.stat()).size);
    return positionAfter(tail.subarray(0, tail.lastIndexOf(NEWLINE) + 1).toString('utf8'));
  } finally {
    await file.close();
  }
}

/** Removes an unfinished line at the end of the log, left by a process that was killed while writing. */
export async function trimUnfinished(file: FileHandle, path: string): Promise<void> {
  const { size } = await file.stat();
  if (size === 0) return;
  await using reader = await open(path, READ);
  const tail = await readTail(reader, size);
  const end = tail.lastIndexOf(NEWLINE) + 1;
  if (end < tail.length) await file.truncate(size - tail.length + end);
}

/** Returns the position of a log; if it was just rotated, that of the newest rotated file. */
export async function findPosition(path: string): Promise<LogPosition> {
  const current = await positionIn(path);
  if (current.timeNs > 0n) return current;
  const name = basename(path);
  const names = await readdir(dirname(path)).catch(() => []);
  const newest = names
    .filter((other) => other.startsWith(`${name}.`) && !/\.(?:gz|tmp)$/.test(other))
    .sort()
    .at(-1);
  return newest === undefined ? BEGINNING : positionIn(join(dirname(path), newest));
}

/** Returns a filter for lines in the order of docker's log: true for those that are not written yet. */
export function createUnwritten({ timeNs, count }: LogPosition): (time: string) => boolean {
  let seen = 0;
  let isPast = timeNs === 0n;
  return (time) => {
    if (isPast) return true;
    const at = parseTime(time);
    if (at < timeNs) return false;
    if (at === timeNs && seen < count) {
      seen += 1;
      return false;
    }
    isPast = true;
    return true;
  };
}
