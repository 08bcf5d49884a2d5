/** Changes at a manifest path: events, the names that count, and files that are being written in place.
 *
 *  Events are those of inotify, through chokidar. They are only triggers: each is verified by a check. Uses the raw
 *  events of chokidar because the processed ones wait for a stat, do not distinguish a rename from a write, and
 *  omit names behind `..data`. See docs/decisions on watching. */
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

/** Leftovers of editors and package managers, which must never run besides the manifest that they copy.
 *  Deviation: upstream reads every name that does not begin with a dot. */
const LEFTOVER =
  /(?:~|#|\.(?:bak|orig|rej|sav|save|old|new|tmp|temp|part|swp|swo|swx|rpmnew|rpmsave|rpmorig|dpkg-[a-z]+|ucf-[a-z]+))$/i;

/** Name of the test file with which vim checks whether it may create files. */
const VIM_PROBE = /^\d{4,5}$/;

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

/** Reports whether a name in a manifest directory is skipped. */
export function isIgnoredName(name: string): boolean {
  return name.startsWith('.') || name.startsWith('#') || LEFTOVER.test(name) || VIM_PROBE.test(name);
}

/** Reports whether a change of this name can change the content of other names: `..data` and similar, through
 *  which the visible symbolic links lead. */
export function isIndirection(name: string): boolean {
  return name.startsWith('..');
}

/** Reports whether the name is that of a manifest, so that a directory or device with it is an error to
 *  report. */
export function isManifestName(name: string): boolean {
  return /\.(?:ya?ml|json)$/i.test(name);
}

export interface WriteWatch {
  /** Records a write to the file. */
  note(path: string, nowMs: number): void;
  /** Returns when the file may be read; undefined without a recent write. */
  restsAtMs(path: string): number | undefined;
  /** Call after a read that began at `startMs`. @returns when to read again, undefined if the read was
   *  complete */
  afterRead(path: string, startMs: number): number | undefined;
}

/** @param settleMs required pause of the writer
 *  @param graceMs maximum wait for a pause before the file is read anyway */
export function createWriteWatch(settleMs: number, graceMs: number): WriteWatch {
  const writes = new Map<string, { readonly firstMs: number; readonly lastMs: number }>();
  return {
    note(path, nowMs) {
      writes.set(path, { firstMs: writes.get(path)?.firstMs ?? nowMs, lastMs: nowMs });
    },
    restsAtMs(path) {
      const write = writes.get(path);
      return write === undefined ? undefined : Math.min(write.lastMs + settleMs, write.firstMs + graceMs);
    },
    afterRead(path, startMs) {
      const write = writes.get(path);
      if (write !== undefined && write.lastMs >= startMs) {
        // A file that is written continuously, such as a log, is not read after every settle time.
        return startMs + (startMs - write.firstMs > graceMs ? graceMs : settleMs);
      }
      writes.delete(path);
      return undefined;
    },
  };
}
