/** One check of one manifest file: reads and parses it if necessary. Does not decide what becomes effective. */
import { createHash } from 'node:crypto';
import type { Clock } from '#api/kit/clock.ts';
import { rejectedPlace } from '../last-good.ts';
import type { ManifestSet, ReadManifests } from '../types.ts';
import { isManifestName } from './file-names.ts';
import { type FileRead, type FileStamp, readManifestFile } from './file-reader.ts';
import type { WriteWatch } from './writes-in-place.ts';

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

function unusable(request: CheckRequest, detail: string, ageMs: number, stamp?: FileStamp): Sighting {
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
      return unusable(request, 'is a directory, not a file', Number.POSITIVE_INFINITY);
    case 'unusable':
      return unusable(
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
