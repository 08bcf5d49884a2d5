/** Reports changes at a path by inotify, through chokidar. The events are only triggers: each is verified by
 *  a check. Uses the raw events of chokidar because the processed ones wait for a stat, do not distinguish a
 *  rename from a write, and omit names behind `..data`. See docs/decisions on watching. */
import { basename, resolve } from 'node:path';
import { asError } from '#api/kit/errno.ts';

export type PathChange =
  /** A name in the watched directory was created, removed, renamed (`inPlace` false) or written to. */
  | { readonly kind: 'entry'; readonly name: string; readonly inPlace: boolean }
  /** The watched path itself, or a parent, changed. */
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
  /** The path without symbolic links, if it exists. */
  readonly real: string | undefined;
}

export type WatchPath = (target: WatchTarget, handlers: PathWatchHandlers) => Promise<PathWatch>;

function watchedPathOf(details: unknown): string | undefined {
  if (typeof details !== 'object' || details === null || !('watchedPath' in details)) return undefined;
  return typeof details.watchedPath === 'string' ? details.watchedPath : undefined;
}

/** Interprets a raw event. Pure. @returns undefined for an unrelated name next to the watched path */
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
    // The removal of a directory is reported under its own name.
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
    // Depth one, or chokidar misses the content of a directory that appears later; but no entry is watched or
    // even inspected individually: the watch of the directory reports all of them.
    depth: 1,
    ignored: (path) => !roots.some((root) => path === root || root.startsWith(`${path}/`)),
  });
  watcher.on('raw', (event, name, details) => {
    const change = readRawEvent(event, basename(name ?? ''), watchedPathOf(details), target);
    if (change !== undefined) handlers.onChange(change);
  });
  // For parents that appear step by step, only these events are reported.
  watcher.on('addDir', () => handlers.onChange({ kind: 'self', inPlace: false }));
  watcher.on('error', (thrown) => handlers.onError(asError(thrown)));
  await new Promise<void>((ready) => {
    watcher.once('ready', ready);
  });
  return { close: () => watcher.close() };
};
