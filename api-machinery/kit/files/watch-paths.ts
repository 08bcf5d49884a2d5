/** Watches files by inotify, also files that are replaced by another one, behind links, and in folders that are
 *  replaced. Events are only triggers. */
import { type FSWatcher, watch } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { isDeepStrictEqual } from 'node:util';

export interface PathsWatch {
  /** Watches exactly these files from now on. Must be repeated after an event, because a folder or the target of a link
   *  may be another one. Resolves with whether all of them can be watched. */
  watch(paths: Iterable<string>): Promise<boolean>;
  close(): void;
}

/** Links that change all the time are left to the next event. */
const MOST_ROUNDS = 5;

/** Returns the names to watch in each folder: a file, the target of a link, and the folder itself in its parent. */
async function watchedNames(paths: Iterable<string>): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const names = new Map<string, Set<string>>();
  const add = (path: string): void => {
    const folder = dirname(path);
    const known = names.get(folder) ?? new Set();
    names.set(folder, known.add(basename(path)));
  };
  for (const path of paths) {
    add(path);
    add(dirname(path));
    add(await realpath(path).catch(() => path));
  }
  return names;
}

/** Volumes replace a whole folder behind a link, `..data`. */
const isRelevant = (name: string | null, names: ReadonlySet<string>): boolean =>
  name === null || names.has(name) || name.startsWith('..');

export function createPathsWatch(onEvent: () => void): PathsWatch {
  let watchers: readonly FSWatcher[] = [];
  let isClosed = false;

  function watchFolder(folder: string, names: ReadonlySet<string>): readonly FSWatcher[] {
    try {
      const watcher = watch(folder, { persistent: false }, (_, name) => {
        if (isRelevant(name, names)) onEvent();
      });
      // The folder is gone, which its parent reports.
      return [watcher.on('error', () => undefined)];
    } catch {
      return [];
    }
  }

  function close(): void {
    isClosed = true;
    for (const watcher of watchers) watcher.close();
  }

  return {
    async watch(paths) {
      let folders = await watchedNames(paths);
      for (let round = 0; round < MOST_ROUNDS; round += 1) {
        const before = watchers;
        watchers = [...folders].flatMap(([folder, names]) => watchFolder(folder, names));
        for (const watcher of before) watcher.close();
        if (isClosed) close();
        // A link that changed before it was watched leads elsewhere.
        const found = await watchedNames(paths);
        if (isDeepStrictEqual(found, folders)) break;
        folders = found;
      }
      return watchers.length === folders.size;
    },
    close,
  };
}
