/** Watcher of unix sockets in a directory and its subdirectories, based on directory events. A socket that
 *  was removed and created again counts as another one, even if the removal went unnoticed. */
import { type FSWatcher, watch } from 'node:fs';
import { lstat, mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock, sleep } from '#api/kit/clock.ts';
import { errorCode } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';

export interface SocketSink {
  appeared(path: string): void;
  /** Also called before the same path appears as another socket. */
  gone(path: string): void;
}

export interface SocketWatcherDeps {
  readonly clock: Clock;
  readonly log: Logger;
}

/** More than any node has; a deeper or larger directory is a mistake. */
const MAX_DEPTH = 8;
const MAX_FOLDERS = 1000;
/** Delay after a failed scan; afterwards events are used again. */
const RETRY_MS = 1000;

interface Found {
  readonly folders: Set<string>;
  /** Identity of the socket at each path. */
  readonly sockets: Map<string, string>;
}

/** Returns undefined for a path that was removed in the meantime. */
async function unlessGone<T>(attempt: Promise<T>): Promise<T | undefined> {
  try {
    return await attempt;
  } catch (thrown) {
    if (['ENOENT', 'ENOTDIR'].includes(errorCode(thrown) ?? '')) return undefined;
    throw thrown;
  }
}

async function identity(path: string): Promise<string | undefined> {
  const stats = await unlessGone(lstat(path, { bigint: true }));
  return stats?.isSocket() === true ? `${stats.ino} ${stats.birthtimeNs}` : undefined;
}

export interface SocketWatcher {
  /** Watches until the signal fires. Never rejects. */
  run(signal: AbortSignal): Promise<void>;
  /** Resolves once the initial sockets have been reported. */
  readonly whenRead: Promise<void>;
}

/** @param dir is created when it is missing, also later */
export function createSocketWatcher(deps: SocketWatcherDeps, dir: string, sink: SocketSink): SocketWatcher {
  const { clock, log } = deps;
  const watchers = new Map<string, FSWatcher>();
  const whenRead = Promise.withResolvers<void>();
  let known: ReadonlyMap<string, string> = new Map();
  let changed = Promise.withResolvers<void>();

  function unwatch(folder: string): void {
    watchers.get(folder)?.close();
    watchers.delete(folder);
  }

  function follow(folder: string): void {
    if (watchers.has(folder)) return;
    const watcher = watch(folder, () => changed.resolve());
    // The directory was removed, or the watch limit was reached: the next scan finds out.
    watcher.on('error', () => {
      unwatch(folder);
      changed.resolve();
    });
    watchers.set(folder, watcher);
  }

  async function read(folder: string, depth: number, found: Found): Promise<void> {
    if (depth > MAX_DEPTH || found.folders.size >= MAX_FOLDERS) return;
    // Watch before reading, so that no change is missed.
    if (
      (await unlessGone(
        Promise.resolve()
          .then(() => follow(folder))
          .then(() => true),
      )) !== true
    )
      return;
    found.folders.add(folder);
    for (const entry of (await unlessGone(readdir(folder, { withFileTypes: true }))) ?? []) {
      if (entry.name.startsWith('.')) continue;
      const path = join(folder, entry.name);
      if (entry.isDirectory()) await read(path, depth + 1, found);
      const socket = entry.isSocket() ? await identity(path) : undefined;
      if (socket !== undefined) found.sockets.set(path, socket);
    }
  }

  async function scan(): Promise<void> {
    await mkdir(dir, { recursive: true, mode: 0o750 });
    const found: Found = { folders: new Set(), sockets: new Map() };
    await read(dir, 0, found);
    for (const folder of watchers.keys()) if (!found.folders.has(folder)) unwatch(folder);
    const before = known;
    known = found.sockets;
    for (const [path, socket] of before) if (found.sockets.get(path) !== socket) sink.gone(path);
    for (const [path, socket] of found.sockets) if (before.get(path) !== socket) sink.appeared(path);
  }

  async function scanOnce(signal: AbortSignal): Promise<void> {
    changed = Promise.withResolvers();
    try {
      await scan();
      whenRead.resolve();
    } catch (err) {
      log.warn({ err, dir }, 'Failed to read plugin socket directory');
      sleep(clock, RETRY_MS, signal).then(changed.resolve, () => undefined);
    }
  }

  return {
    whenRead: whenRead.promise,
    async run(signal) {
      const stopped = new Promise<void>((resolve) => {
        if (signal.aborted) resolve();
        signal.addEventListener('abort', () => resolve(), { once: true });
      });
      while (!signal.aborted) {
        await scanOnce(signal);
        await Promise.race([changed.promise, stopped]);
      }
      for (const folder of watchers.keys()) unwatch(folder);
    },
  };
}
