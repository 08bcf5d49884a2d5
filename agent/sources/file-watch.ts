/** Tells of changes at a path by inotify, through chokidar. The events are wake-ups: nothing believes them
 *  without a look. Uses chokidar's raw events because its cooked ones wait for the file to be looked at, cannot
 *  tell a rename from a write, and say nothing of names behind `..data`. See docs/decisions on watching. */
import { basename, resolve } from 'node:path';
import { asError } from '#api/kit/clock.ts';

export type PathChange =
  /** A name in the watched directory was created, removed, renamed (`inPlace` false) or written to. */
  | { readonly kind: 'entry'; readonly name: string; readonly inPlace: boolean }
  /** The watched path itself, or something on the way to it. */
  | { readonly kind: 'self'; readonly inPlace: boolean };

export interface PathWatchHandlers {
  onChange(change: PathChange): void;
  /** The watch may be incomplete from now on. */
  onError(error: Error): void;
}

export interface PathWatch {
  close(): Promise<void>;
}

export interface WatchTarget {
  /** The path as configured: may be missing, or a symbolic link. */
  readonly path: string;
  /** The path without symbolic links, when there is something. */
  readonly real: string | undefined;
}

export type WatchPath = (target: WatchTarget, handlers: PathWatchHandlers) => Promise<PathWatch>;

function watchedPathOf(details: unknown): string | undefined {
  if (typeof details !== 'object' || details === null || !('watchedPath' in details)) return undefined;
  return typeof details.watchedPath === 'string' ? details.watchedPath : undefined;
}

/** What a raw event means. Pure. @returns undefined for a stranger's name beside the watched path */
export function readRawEvent(
  event: string,
  name: string,
  watchedPath: string | undefined,
  target: WatchTarget,
): PathChange | undefined {
  const inPlace = event === 'change';
  const roots = [target.path, ...(target.real === undefined ? [] : [target.real])];
  const self: PathChange = { kind: 'self', inPlace };
  if (watchedPath === undefined) return self;
  if (roots.includes(resolve(watchedPath))) {
    // A directory's own end is told under its own name.
    const own = name === '' || roots.some((root) => basename(root) === name);
    return own ? self : { kind: 'entry', name, inPlace };
  }
  const full = resolve(watchedPath, name);
  return roots.some((root) => root === full || root.startsWith(`${full}/`)) ? self : undefined;
}

export const watchPath: WatchPath = async (target, handlers) => {
  const { watch } = await import('chokidar');
  const roots = [...new Set([target.path, target.real ?? target.path])];
  const watcher = watch(roots, {
    ignoreInitial: true,
    followSymlinks: false,
    atomic: false,
    // One level, or chokidar misses the content of a directory that appears later; but none of the entries is
    // watched or even looked at by itself: the directory's own watch tells of them all.
    depth: 1,
    ignored: (path) => !roots.some((root) => path === root || root.startsWith(`${path}/`)),
  });
  watcher.on('raw', (event, name, details) => {
    const change = readRawEvent(event, basename(name ?? ''), watchedPathOf(details), target);
    if (change !== undefined) handlers.onChange(change);
  });
  // Of parents that appear step by step only these tell.
  watcher.on('addDir', () => handlers.onChange({ kind: 'self', inPlace: false }));
  watcher.on('error', (thrown) => handlers.onError(asError(thrown)));
  await new Promise<void>((ready) => {
    watcher.once('ready', ready);
  });
  return { close: () => watcher.close() };
};
