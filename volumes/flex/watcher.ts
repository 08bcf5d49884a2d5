/** Watcher of drivers in the plugin directory: their names, and the identity of each program. Starts when
 *  a driver is first requested, since most nodes have none. */

import { constants, type FSWatcher, watch } from 'node:fs';
import { access, mkdir, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCode } from '#api/kit/errno.ts';
import { createListeners } from '#api/kit/listeners.ts';
import { driverOfFolder, driverPlace } from './protocol.ts';

export interface FlexWatcher {
  /** Identity of the driver's program; undefined if it is missing or not executable. */
  identityOf(name: string): Promise<string | undefined>;
  /** Calls the listener when a driver was added, removed or changed. Returns the unsubscribe function. */
  onChange(listener: () => void): () => void;
  close(): void;
}

/** Returns undefined if the program is missing or not executable. */
async function programIdentity(path: string): Promise<string | undefined> {
  try {
    await access(path, constants.X_OK);
    const { dev, ino, size, mtimeMs, ctimeMs } = await stat(path);
    return [dev, ino, size, mtimeMs, ctimeMs].join(' ');
  } catch (thrown) {
    if (['ENOENT', 'ENOTDIR', 'EACCES'].includes(errorCode(thrown) ?? '')) return undefined;
    throw thrown;
  }
}

const same = (one: ReadonlyMap<string, string>, other: ReadonlyMap<string, string>): boolean =>
  one.size === other.size && [...one].every(([name, identity]) => other.get(name) === identity);

export function createFlexWatcher(dir: string): FlexWatcher {
  const watchers = new Map<string, FSWatcher>();
  const listeners = createListeners('flex volume drivers');
  let drivers: ReadonlyMap<string, string> = new Map();
  let scanning: Promise<void> | undefined;
  let again = false;

  function unwatch(folder: string): void {
    watchers.get(folder)?.close();
    watchers.delete(folder);
  }

  /** Watch before reading, so that no change is missed. */
  function follow(folder: string): void {
    if (watchers.has(folder)) return;
    const watcher = watch(folder, { persistent: false }, () => void scanSoon());
    watcher.on('error', () => unwatch(folder));
    watchers.set(folder, watcher);
  }

  async function readDriver(folder: string, found: Map<string, string>): Promise<string | undefined> {
    const name = driverOfFolder(folder);
    if (name === undefined) return undefined;
    const path = join(dir, folder);
    follow(path);
    const identity = await programIdentity(join(path, driverPlace(name).program));
    if (identity !== undefined) found.set(name, identity);
    return path;
  }

  async function scan(): Promise<void> {
    const found = new Map<string, string>();
    const current = new Set<string | undefined>([dir]);
    try {
      follow(dir);
      for (const entry of await readdir(dir, { withFileTypes: true }))
        if (entry.isDirectory()) current.add(await readDriver(entry.name, found));
    } catch (thrown) {
      if (errorCode(thrown) !== 'ENOENT') throw thrown;
      // The plugin directory or a driver's directory was removed: the next request starts again.
      unwatch(dir);
    }
    for (const folder of watchers.keys()) if (!current.has(folder)) unwatch(folder);
    if (same(drivers, found)) return;
    drivers = found;
    listeners.notify();
  }

  /** One scan at a time; changes during a scan are seen by the next one. */
  async function scanSoon(): Promise<void> {
    again = true;
    scanning ??= (async () => {
      while (again) {
        again = false;
        await scan();
      }
    })().finally(() => {
      scanning = undefined;
    });
    // After a failed scan, the next request starts again.
    await scanning.catch(() => unwatch(dir));
  }

  return {
    async identityOf(name) {
      if (!watchers.has(dir)) {
        await mkdir(dir, { recursive: true, mode: 0o755 });
        await scanSoon();
      }
      await scanning;
      // The event of a new driver may still be in flight.
      return (
        drivers.get(name) ?? programIdentity(join(dir, driverPlace(name).folder, driverPlace(name).program))
      );
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close() {
      for (const folder of watchers.keys()) unwatch(folder);
    },
  };
}
