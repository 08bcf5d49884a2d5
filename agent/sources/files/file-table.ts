/** Table of the manifest files at one path: checks files on request and decides what of their content is
 *  effective. Does not watch and does not wait.
 *
 *  A complete and valid result becomes effective at once. An invalid one is first considered a partial write:
 *  for `graceMs` nothing changes, then the errors are reported and the valid parts are used together with the
 *  last good version of the rest. A missing file counts as removed after `goneMs`, so that an editor which
 *  moves the old file away before it writes the new one stops no pods. */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { hasCode } from '#api/kit/errno.ts';
import { createLimiter } from '#api/kit/limiter.ts';
import { EMPTY_SET, retainLastGood } from '../manifest-set.ts';
import type { ManifestSet } from '../types.ts';
import { isIgnoredName } from './file-watch.ts';
import { checkFile, type FileCheckDeps, type FileMemory, type Sighting } from './inspect-file.ts';

export interface FileTableOptions extends FileTimes {
  /** Directory or single file. */
  readonly path: string;
  /** Maximum size of a manifest. */
  readonly maxBytes: number;
  /** A file written in place is read after a pause of this length. */
  readonly settleMs: number;
}

export interface FileTable {
  /** Lists the path and checks every file that is new, changed or missing by its stamp.
   *  @param forced an event named the path itself: if it is a file, its stamp is no proof
   *  @throws the file system error when the path cannot be listed; nothing has changed then */
  scan(forced: boolean, signal: AbortSignal): Promise<void>;
  /** Checks these files, whatever their stamps. */
  check(paths: Iterable<string>, signal: AbortSignal): Promise<void>;
  /** Returns the effective content of the files, in the order of their names. */
  sets(): readonly ManifestSet[];
  /** Reports whether the current content of a file is still unknown. */
  undecided(): boolean;
  /** Files that need another check, and when (monotonic ms). */
  due(): readonly { readonly path: string; readonly atMs: number }[];
}

interface Entry {
  readonly state: FileState;
  readonly stamp: FileMemory['stamp'];
  readonly content: FileMemory['content'];
}

const READS_AT_ONCE = 4;

/** Returns every name at the path that may be a manifest; empty if the path does not exist. */
async function listPaths(path: string): Promise<readonly string[]> {
  try {
    if (!(await stat(path)).isDirectory()) return [path];
    const names = await readdir(path);
    return names.filter((name) => !isIgnoredName(name)).map((name) => join(path, name));
  } catch (thrown) {
    if (hasCode(thrown, 'ENOENT', 'ENOTDIR')) return [];
    throw thrown;
  }
}

function nextEntry(
  previous: Entry | undefined,
  sighting: Exclude<Sighting, { kind: 'wait' | 'ignored' }>,
  nowMs: number,
  times: FileTimes,
): Entry | undefined {
  const state = decideFile(previous?.state, sighting, nowMs, times);
  if (state === undefined) return undefined;
  const { stamp, content } = previous ?? { stamp: undefined, content: undefined };
  switch (sighting.kind) {
    case 'read':
      return { state, stamp: sighting.stamp, content: { digest: sighting.digest, set: sighting.set } };
    case 'same':
      return { state, stamp, content };
    case 'missing':
      // Keep the inode to recognize the file under another name, but read it again when it reappears.
      return { state, stamp: stamp === undefined ? undefined : { ...stamp, text: '' }, content };
    default:
      throw new Error(sighting satisfies never);
  }
}

export function createFileTable(deps: FileCheckDeps, options: FileTableOptions): FileTable {
  const entries = new Map<string, Entry>();
  /** Files that are pending, and until when. */
  const waiting = new Map<string, number>();
  const limiter = createLimiter(READS_AT_ONCE);

  async function sight(path: string, forced: boolean, signal: AbortSignal): Promise<Sighting> {
    const entry = entries.get(path);
    const memory = { stamp: entry?.stamp, content: entry?.content, shown: entry?.state.shown };
    return await limiter.run(() => checkFile(deps, options, { path, memory, forced }, signal), signal);
  }

  function settle(path: string, sighting: Sighting): void {
    waiting.delete(path);
    if (sighting.kind === 'wait') {
      waiting.set(path, sighting.untilMs);
      return;
    }
    const entry =
      sighting.kind === 'ignored'
        ? undefined
        : nextEntry(entries.get(path), sighting, deps.clock.monotonic(), options);
    if (entry === undefined) entries.delete(path);
    else entries.set(path, entry);
  }

  /** A missing file that exists under another name will not reappear and is not waited for. */
  function dropRenamed(): void {
    const present = new Set<string | undefined>();
    const missing: [path: string, inode: string | undefined][] = [];
    for (const [path, { state, stamp }] of entries) {
      if (state.goneAtMs === undefined) present.add(stamp?.inode);
      else missing.push([path, stamp?.inode]);
    }
    for (const [path, inode] of missing) {
      if (inode !== undefined && present.has(inode)) entries.delete(path);
    }
  }

  async function pass(paths: Iterable<string>, forced: boolean, signal: AbortSignal): Promise<void> {
    const sightings = await Promise.all(
      [...new Set(paths)].map(async (path) => [path, await sight(path, forced, signal)] as const),
    );
    for (const [path, sighting] of sightings) settle(path, sighting);
    dropRenamed();
  }

  return {
    async scan(forced, signal) {
      const listed = await listPaths(options.path);
      const single = listed.length === 1 && listed[0] === options.path;
      await pass([...listed, ...entries.keys()], forced && single, signal);
    },
    check: (paths, signal) => pass(paths, true, signal),
    sets: () => [...entries].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, entry]) => entry.state.shown),
    undecided: () => waiting.size > 0 || [...entries.values()].some(({ state }) => state.held !== undefined),
    due: () => [
      ...[...waiting].map(([path, atMs]) => ({ path, atMs })),
      ...[...entries].flatMap(([path, { state }]) => {
        const atMs = nextCheckMs(state);
        return atMs === undefined ? [] : [{ path, atMs }];
      }),
    ],
  };
}

interface FileTimes {
  /** Time for which an invalid file is considered a partial write. */
  readonly graceMs: number;
  /** Time within which a missing file may reappear. */
  readonly goneMs: number;
}

export type FileCheck =
  /** Not read, because nothing about the file changed since the last check. */
  | { readonly kind: 'same' }
  | { readonly kind: 'missing' }
  /** `ageMs`: time since the last write to the file, by its own timestamp. */
  | { readonly kind: 'read'; readonly set: ManifestSet; readonly ageMs: number };

export interface FileState {
  /** The effective content, which goes into the snapshot. */
  readonly shown: ManifestSet;
  /** Invalid content that is not effective yet, and until when. */
  readonly held?: { readonly set: ManifestSet; readonly untilMs: number };
  /** When a missing file counts as removed. */
  readonly goneAtMs?: number;
}

function faulty(
  previous: FileState | undefined,
  set: ManifestSet,
  untilMs: number,
  nowMs: number,
): FileState {
  const last = previous?.shown;
  if (nowMs >= untilMs) return { shown: retainLastGood(last, set) };
  return { shown: last ?? EMPTY_SET, held: { set, untilMs } };
}

/** Returns the state of the file after a check. @returns undefined when the file is removed */
export function decideFile(
  previous: FileState | undefined,
  check: FileCheck,
  nowMs: number,
  times: FileTimes,
): FileState | undefined {
  switch (check.kind) {
    case 'missing': {
      if (previous === undefined) return undefined;
      const goneAtMs = previous.goneAtMs ?? nowMs + times.goneMs;
      return nowMs >= goneAtMs ? undefined : { shown: previous.shown, goneAtMs };
    }
    case 'read': {
      if (check.set.rejected.length === 0) return { shown: check.set };
      // A clock set back makes the file check younger than it is, never older.
      const ageMs = Math.min(Math.max(check.ageMs, 0), times.graceMs);
      const untilMs = previous?.held?.untilMs ?? nowMs - ageMs + times.graceMs;
      return faulty(previous, check.set, untilMs, nowMs);
    }
    case 'same': {
      if (previous === undefined) return undefined;
      const { held, shown } = previous;
      return held === undefined ? { shown } : faulty(previous, held.set, held.untilMs, nowMs);
    }
    default:
      throw new Error(check satisfies never);
  }
}

/** Returns when the state needs another check without an event. */
export function nextCheckMs(state: FileState): number | undefined {
  return state.goneAtMs ?? state.held?.untilMs;
}
