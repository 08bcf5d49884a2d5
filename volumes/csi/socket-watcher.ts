/** Follows the unix sockets in a folder and its subfolders, by events of the folders. A socket that was removed and
 *  made again is another one, even if nobody looked in between. */
import { type FSWatcher, watch } from 'node:fs';
import { lstat, mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock, sleep } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import { errorCode } from '../setup-error.ts';

export interface SocketSink {
  appeared(path: string): void;
  /** Also told before the same path appears as another socket. */
  gone(path: string): void;
}

export interface SocketWatcherDeps {
  readonly clock: Clock;
  readonly log: Logger;
}

/** More than any node has; a folder that goes deeper or holds more is somebody's mistake. */
const DEEPEST = 8;
const MOST_FOLDERS = 1000;
/** After a look that failed; afterwards it is events again. */
const RETRY_MS = 1000;

interface Found {
  readonly folders: Set<string>;
  /** What tells one socket from another at the same path, by path. */
  readonly sockets: Map<string, string>;
}

/** Nobody else's: what went away meanwhile is not there. */
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
  /** Follows until the signal fires. Never rejects. */
  run(signal: AbortSignal): Promise<void>;
  /** Resolves when what was there at the start has been told. */
  readonly whenRead: Promise<void>;
}

/** @param dir is made when it is missing, also later */
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
    // The folder went away, or there are no more watches: the next look finds out.
    watcher.on('error', () => {
      unwatch(folder);
      changed.resolve();
    });
    watchers.set(folder, watcher);
  }

  async function read(folder: string, depth: number, found: Found): Promise<void> {
    if (depth > DEEPEST || found.folders.size >= MOST_FOLDERS) return;
    // Watched before it is read, so that nothing comes in between.
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

  async function look(): Promise<void> {
    await mkdir(dir, { recursive: true, mode: 0o750 });
    const found: Found = { folders: new Set(), sockets: new Map() };
    await read(dir, 0, found);
    for (const folder of watchers.keys()) if (!found.folders.has(folder)) unwatch(folder);
    const before = known;
    known = found.sockets;
    for (const [path, socket] of before) if (found.sockets.get(path) !== socket) sink.gone(path);
    for (const [path, socket] of found.sockets) if (before.get(path) !== socket) sink.appeared(path);
  }

  async function lookOnce(signal: AbortSignal): Promise<void> {
    changed = Promise.withResolvers();
    try {
      await look();
      whenRead.resolve();
    } catch (err) {
      log.warn({ err, dir }, 'Folder of plugin sockets could not be read');
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
        await lookOnce(signal);
        await Promise.race([changed.promise, stopped]);
      }
      for (const folder of watchers.keys()) unwatch(folder);
    },
  };
}
