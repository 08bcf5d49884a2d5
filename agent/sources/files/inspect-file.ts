/** One check of one manifest file: reads and parses it if necessary. Never blocks on a FIFO, never opens a device,
 *  never reads more than the limit. Does not decide what becomes effective. */
import { createHash } from 'node:crypto';
import { type BigIntStats, constants } from 'node:fs';
import { type FileHandle, lstat, open, stat } from 'node:fs/promises';
import type { Clock } from '#api/kit/clock.ts';
import { asError, errorCode } from '#api/kit/errno.ts';
import { rejectedPlace } from '../manifest-set.ts';
import type { ManifestSet, ReadManifests } from '../types.ts';
import { isManifestName, type WriteWatch } from './file-watch.ts';

export interface FileCheckDeps {
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly readManifests: ReadManifests;
  readonly writes: WriteWatch;
}

export interface FileCheckOptions {
  /** Maximum size of a manifest. */
  readonly maxBytes: number;
  /** A file changed within this time may be partially written. */
  readonly settleMs: number;
}

/** State of earlier checks. */
export interface FileMemory {
  readonly stamp: FileStamp | undefined;
  /** Digest and result of the last read. */
  readonly content: { readonly digest: string; readonly set: ManifestSet } | undefined;
  /** The effective set: its unchanged entries are reused. */
  readonly shown: ManifestSet | undefined;
}

export type Sighting =
  | {
      readonly kind: 'read';
      readonly set: ManifestSet;
      /** Time since the last change of the file by its own timestamp. */
      readonly ageMs: number;
      readonly digest: string;
      readonly stamp: FileStamp | undefined;
    }
  | { readonly kind: 'same' }
  | { readonly kind: 'missing' }
  | { readonly kind: 'wait'; readonly untilMs: number }
  | { readonly kind: 'ignored' };

export interface CheckRequest {
  readonly path: string;
  readonly memory: FileMemory;
  /** An event named the file: its stamp is no proof, and the kind of change is known. */
  readonly forced: boolean;
}

/** File system timestamps may be this coarse: a younger stamp does not prove that nothing changed since. */
const STAMP_GRAIN_MS = 50;

function rejectedFile(request: CheckRequest, detail: string, ageMs: number, stamp?: FileStamp): Sighting {
  const { content } = request.memory;
  const digest = `unusable: ${detail}`;
  const known = content?.digest === digest ? content.set : undefined;
  const set = known ?? rejectedPlace({ source: 'file', location: request.path }, detail);
  return { kind: 'read', set, ageMs, digest, stamp };
}

/** @throws the signal's reason when it fires during the parse; nothing else */
export async function checkFile(
  deps: FileCheckDeps,
  options: FileCheckOptions,
  request: CheckRequest,
  signal: AbortSignal,
): Promise<Sighting> {
  const { clock, writes } = deps;
  const { path, memory, forced } = request;
  const startMs = clock.monotonic();
  const restMs = writes.restsAtMs(path) ?? startMs;
  if (restMs > startMs) return { kind: 'wait', untilMs: restMs };
  const read = await readManifestFile(path, options.maxBytes, forced ? undefined : memory.stamp?.text);
  // The event of a write before the read is queued by now; one turn of the event loop delivers it.
  await new Promise((resolve) => setImmediate(resolve));
  const againMs = writes.afterRead(path, startMs);
  if (againMs !== undefined) return { kind: 'wait', untilMs: againMs };
  switch (read.kind) {
    case 'changing':
      return { kind: 'wait', untilMs: startMs + options.settleMs };
    case 'same':
    case 'missing':
      return { kind: read.kind };
    case 'directory':
      if (!isManifestName(path)) return { kind: 'ignored' };
      return rejectedFile(request, 'is a directory, not a file', Number.POSITIVE_INFINITY);
    case 'unusable':
      return rejectedFile(
        request,
        read.detail,
        read.stamp === undefined ? 0 : clock.now() - read.stamp.changedMs,
        read.stamp,
      );
    case 'content': {
      const youngMs = options.settleMs - Math.abs(clock.now() - read.stamp.changedMs);
      if (!forced && youngMs > 0) return { kind: 'wait', untilMs: startMs + youngMs };
      return await parseContent(deps, request, read, signal);
    }
    default:
      throw new Error(read satisfies never);
  }
}

async function parseContent(
  deps: FileCheckDeps,
  request: CheckRequest,
  read: Extract<FileRead, { kind: 'content' }>,
  signal: AbortSignal,
): Promise<Sighting> {
  const { bytes, stamp } = read;
  const { path, memory } = request;
  const place = { source: 'file', location: path } as const;
  const digest = createHash('sha256').update(bytes).digest('base64');
  const ageMs = deps.clock.now() - stamp.changedMs;
  const facts = { ageMs, digest, stamp: ageMs > STAMP_GRAIN_MS ? stamp : { ...stamp, text: '' } };
  if (memory.content?.digest === digest) return { kind: 'read', set: memory.content.set, ...facts };
  if (bytes.length === 0) {
    const set = rejectedPlace(place, 'is empty; to remove its pods, delete the file', 'FieldValueRequired');
    return { kind: 'read', set, ...facts };
  }
  return { kind: 'read', set: await deps.readManifests(bytes, place, memory.shown, signal), ...facts };
}

/** Attributes that change whenever the file does. */
interface FileStamp {
  readonly text: string;
  /** `device:inode`, to recognize the file under another name. */
  readonly inode: string;
  /** Time of the last write or attribute change, ms since the epoch. */
  readonly changedMs: number;
}

type FileRead =
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
async function readManifestFile(path: string, maxBytes: number, known?: string): Promise<FileRead> {
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
