/** The manifest files known at one path and what each gives: looks at files when told to, decides by
 *  `decideFile`. Does not watch and does not wait. */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { asError } from '#api/kit/clock.ts';
import { createLimiter } from '#api/kit/limiter.ts';
import { type FileLookDeps, type FileMemory, lookAtFile, type Sighting } from './file-look.ts';
import { isIgnoredName } from './file-names.ts';
import { decideFile, type FileState, type FileTimes, nextLookMs } from './file-state.ts';
import type { ManifestSet } from './types.ts';

export interface FileTableOptions extends FileTimes {
  /** Directory or single file. */
  readonly path: string;
  /** Largest manifest that is read. */
  readonly maxBytes: number;
  /** A file written in place is read when nobody wrote to it for so long. */
  readonly settleMs: number;
}

export interface FileTable {
  /** Lists the path and looks at every file that is new, changed or missing by its stamp.
   *  @param forced an event named the path itself: if it is a file, its stamp proves nothing
   *  @throws the file system's error when the path cannot be listed; nothing has changed then */
  scan(forced: boolean, signal: AbortSignal): Promise<void>;
  /** Looks at these files, whatever their stamps say. */
  look(paths: Iterable<string>, signal: AbortSignal): Promise<void>;
  /** What the files give, in order of their names. */
  sets(): readonly ManifestSet[];
  /** Whether a file's present content is not known yet. */
  undecided(): boolean;
  /** Files that want another look, and when (monotonic ms). */
  due(): readonly { readonly path: string; readonly atMs: number }[];
}

interface Entry {
  readonly state: FileState;
  readonly stamp: FileMemory['stamp'];
  readonly content: FileMemory['content'];
}

const READS_AT_ONCE = 4;

/** Every name at the path that may be a manifest; none when there is nothing at the path. */
async function listPaths(path: string): Promise<readonly string[]> {
  try {
    if (!(await stat(path)).isDirectory()) return [path];
    const names = await readdir(path);
    return names.filter((name) => !isIgnoredName(name)).map((name) => join(path, name));
  } catch (thrown) {
    const error = asError(thrown);
    if ('code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR')) return [];
    throw error;
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
      // Keeps its inode, to be known under another name, but must be read again when it comes back.
      return { state, stamp: stamp === undefined ? undefined : { ...stamp, text: '' }, content };
    default:
      throw new Error(sighting satisfies never);
  }
}

export function createFileTable(deps: FileLookDeps, options: FileTableOptions): FileTable {
  const entries = new Map<string, Entry>();
  /** Files that are waited for, and until when. */
  const waiting = new Map<string, number>();
  const limiter = createLimiter(READS_AT_ONCE);

  async function sight(path: string, forced: boolean, signal: AbortSignal): Promise<Sighting> {
    const entry = entries.get(path);
    const memory = { stamp: entry?.stamp, content: entry?.content, shown: entry?.state.shown };
    return await limiter.run(() => lookAtFile(deps, options, { path, memory, forced }, signal), signal);
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

  /** A missing file that is there under another name won't come back, so it need not be waited for. */
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
    look: (paths, signal) => pass(paths, true, signal),
    sets: () => [...entries].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, entry]) => entry.state.shown),
    undecided: () => waiting.size > 0 || [...entries.values()].some(({ state }) => state.held !== undefined),
    due: () => [
      ...[...waiting].map(([path, atMs]) => ({ path, atMs })),
      ...[...entries].flatMap(([path, { state }]) => {
        const atMs = nextLookMs(state);
        return atMs === undefined ? [] : [{ path, atMs }];
      }),
    ],
  };
}
