/** Reads one manifest file safely: never blocks on a FIFO, never opens a device, never reads more than the
 *  limit. Does not parse. */

import { type BigIntStats, constants } from 'node:fs';
import { type FileHandle, lstat, open, stat } from 'node:fs/promises';
import { asError, errorCode } from '#api/kit/errno.ts';

/** Attributes that change whenever the file does. */
export interface FileStamp {
  readonly text: string;
  /** `device:inode`, to recognize the file under another name. */
  readonly inode: string;
  /** Time of the last write or attribute change, ms since the epoch. */
  readonly changedMs: number;
}

export type FileRead =
  | { readonly kind: 'content'; readonly bytes: Uint8Array; readonly stamp: FileStamp }
  /** Same stamp as the known one: not read again. */
  | { readonly kind: 'same' }
  | { readonly kind: 'missing' }
  /** Modified while it was read. */
  | { readonly kind: 'changing' }
  | { readonly kind: 'directory' }
  | { readonly kind: 'unusable'; readonly detail: string; readonly stamp?: FileStamp };

function stampOf(stats: BigIntStats): FileStamp {
  const { dev, ino, size, mtimeNs, ctimeNs } = stats;
  return {
    text: [dev, ino, size, mtimeNs, ctimeNs].join(':'),
    inode: `${dev}:${ino}`,
    changedMs: Number(ctimeNs > mtimeNs ? ctimeNs : mtimeNs) / 1e6,
  };
}

function kindWord(stats: BigIntStats): string {
  if (stats.isFIFO()) return 'a FIFO';
  if (stats.isSocket()) return 'a socket';
  return stats.isBlockDevice() || stats.isCharacterDevice() ? 'a device' : 'not a regular file';
}

function unusable(stats: BigIntStats, maxBytes: number): FileRead | undefined {
  const stamp = stampOf(stats);
  if (stats.isDirectory()) return { kind: 'directory' };
  if (!stats.isFile())
    return { kind: 'unusable', detail: `is ${kindWord(stats)}, not a regular file`, stamp };
  if (stats.size <= BigInt(maxBytes)) return undefined;
  return { kind: 'unusable', detail: `has ${stats.size} bytes; the maximum is ${maxBytes}`, stamp };
}

/** Reads up to `limit` bytes and one more, which indicates that there are too many. */
async function readUpTo(file: FileHandle, size: number, limit: number): Promise<Uint8Array> {
  const buffer = Buffer.alloc(Math.min(size, limit) + 1);
  let length = 0;
  while (length < buffer.length) {
    const { bytesRead } = await file.read(buffer, length, buffer.length - length, length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return buffer.subarray(0, length);
}

async function readOpened(file: FileHandle, maxBytes: number): Promise<FileRead> {
  const before = await file.stat({ bigint: true });
  const refused = unusable(before, maxBytes);
  if (refused !== undefined) return refused;
  const bytes = await readUpTo(file, Number(before.size), maxBytes);
  const after = stampOf(await file.stat({ bigint: true }));
  if (after.text !== stampOf(before).text || bytes.length !== Number(before.size))
    return { kind: 'changing' };
  return { kind: 'content', bytes, stamp: after };
}

/** Handles a name without a file: removed, or a dangling link. */
async function readMissing(path: string): Promise<FileRead> {
  try {
    await lstat(path);
    return { kind: 'unusable', detail: 'is a dangling symbolic link' };
  } catch {
    return { kind: 'missing' };
  }
}

/** @param known stamp of the last read; a file that still has it is not read again
 *  @param maxBytes maximum size of a file */
export async function readManifestFile(path: string, maxBytes: number, known?: string): Promise<FileRead> {
  try {
    // Opening some devices has side effects, so check the type first; it is checked again after opening.
    const stats = await stat(path, { bigint: true });
    if (known !== undefined && stampOf(stats).text === known) return { kind: 'same' };
    const refused = unusable(stats, maxBytes);
    if (refused !== undefined) return refused;
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
    try {
      return await readOpened(file, maxBytes);
    } finally {
      await file.close();
    }
  } catch (thrown) {
    const error = asError(thrown);
    const code = errorCode(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return await readMissing(path);
    return { kind: 'unusable', detail: `cannot be read: ${code ?? error.message}` };
  }
}
