/** One look at one manifest file: reads and parses it if need be. Decides nothing about what it means. */
import { createHash } from 'node:crypto';
import type { Clock } from '#api/kit/clock.ts';
import { isManifestName } from './file-names.ts';
import { type FileRead, type FileStamp, readManifestFile } from './file-reader.ts';
import type { WriteWatch } from './file-rest.ts';
import { rejectedPlace } from './keep-good.ts';
import type { ManifestSet, ReadManifests } from './types.ts';

export interface FileLookDeps {
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly readManifests: ReadManifests;
  readonly writes: WriteWatch;
}

export interface FileLookOptions {
  /** Largest manifest that is read. */
  readonly maxBytes: number;
  /** A file that changed so recently may be in the middle of a write. */
  readonly settleMs: number;
}

/** What the last looks left behind. */
export interface FileMemory {
  readonly stamp: FileStamp | undefined;
  /** Digest of what was read last and what it gave. */
  readonly content: { readonly digest: string; readonly set: ManifestSet } | undefined;
  /** What counts now: its entries are used again where they are the same. */
  readonly shown: ManifestSet | undefined;
}

export type Sighting =
  | {
      readonly kind: 'read';
      readonly set: ManifestSet;
      /** Time since the file's last change by its own timestamp. */
      readonly ageMs: number;
      readonly digest: string;
      readonly stamp: FileStamp | undefined;
    }
  | { readonly kind: 'same' }
  | { readonly kind: 'missing' }
  | { readonly kind: 'wait'; readonly untilMs: number }
  | { readonly kind: 'ignored' };

export interface LookRequest {
  readonly path: string;
  readonly memory: FileMemory;
  /** An event named the file: its stamp proves nothing, and how it came to be is known. */
  readonly forced: boolean;
}

/** Timestamps of a file system may be this coarse: a younger stamp does not prove that nothing changed since. */
const STAMP_GRAIN_MS = 50;

function unusable(request: LookRequest, detail: string, ageMs: number, stamp?: FileStamp): Sighting {
  const { content } = request.memory;
  const digest = `unusable: ${detail}`;
  const known = content?.digest === digest ? content.set : undefined;
  const set = known ?? rejectedPlace({ source: 'file', location: request.path }, detail);
  return { kind: 'read', set, ageMs, digest, stamp };
}

/** @throws the signal's reason when it fires during the parse; nothing else */
export async function lookAtFile(
  deps: FileLookDeps,
  options: FileLookOptions,
  request: LookRequest,
  signal: AbortSignal,
): Promise<Sighting> {
  const { clock, writes } = deps;
  const { path, memory, forced } = request;
  const startMs = clock.monotonic();
  const restMs = writes.restsAtMs(path) ?? startMs;
  if (restMs > startMs) return { kind: 'wait', untilMs: restMs };
  const read = await readManifestFile(path, options.maxBytes, forced ? undefined : memory.stamp?.text);
  // A write before the read has its event queued by now; one turn lets it in.
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
  deps: FileLookDeps,
  request: LookRequest,
  read: Extract<FileRead, { kind: 'content' }>,
  signal: AbortSignal,
): Promise<Sighting> {
  const { bytes, stamp } = read;
  const { path, memory } = request;
  const place = { source: 'file', location: path } as const;
  const digest = createHash('sha256').update(bytes).digest('base64');
  const ageMs = deps.clock.now() - stamp.changedMs;
  const kept = { ageMs, digest, stamp: ageMs > STAMP_GRAIN_MS ? stamp : { ...stamp, text: '' } };
  if (memory.content?.digest === digest) return { kind: 'read', set: memory.content.set, ...kept };
  if (bytes.length === 0) {
    const set = rejectedPlace(place, 'is empty; to remove its pods, delete the file', 'FieldValueRequired');
    return { kind: 'read', set, ...kept };
  }
  return { kind: 'read', set: await deps.readManifests(bytes, place, memory.shown, signal), ...kept };
}
