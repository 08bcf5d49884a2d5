/** Follows the drivers in the plugin directory by events: which there are, and which program each is. It begins when a
 *  driver is first asked for, as most nodes have none. */

import { constants, type FSWatcher, watch } from 'node:fs';
import { access, mkdir, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { createListeners } from '#api/kit/listeners.ts';
import { errorCode } from '../setup-error.ts';
import { driverOfFolder, driverPlace } from './protocol.ts';

export interface FlexWatcher {
  /** What tells the driver's program from another at its place; undefined where there is none that can be run. */
  identityOf(name: string): Promise<string | undefined>;
  /** Calls the listener when a driver came, went or changed. Returns the function that ends this. */
  onChange(listener: () => void): () => void;
  close(): void;
}

/** Harmless where the program is missing or can't be run. */
export async function programIdentity(path: string): Promise<string | undefined> {
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
  let looking: Promise<void> | undefined;
  let again = false;

  function unwatch(folder: string): void {
    watchers.get(folder)?.close();
    watchers.delete(folder);
  }

  /** Before it is read, so that nothing comes in between. */
  function follow(folder: string): void {
    if (watchers.has(folder)) return;
    const watcher = watch(folder, { persistent: false }, () => void lookSoon());
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

  async function look(): Promise<void> {
    const found = new Map<string, string>();
    const kept = new Set<string | undefined>([dir]);
    try {
      follow(dir);
      for (const entry of await readdir(dir, { withFileTypes: true }))
        if (entry.isDirectory()) kept.add(await readDriver(entry.name, found));
    } catch (thrown) {
      if (errorCode(thrown) !== 'ENOENT') throw thrown;
      // It, or a driver's folder, went away: whoever asks next begins anew.
      unwatch(dir);
    }
    for (const folder of watchers.keys()) if (!kept.has(folder)) unwatch(folder);
    if (same(drivers, found)) return;
    drivers = found;
    listeners.notify();
  }

  /** One look at a time; what changes during one is seen by the next. */
  async function lookSoon(): Promise<void> {
    again = true;
    looking ??= (async () => {
      while (again) {
        again = false;
        await look();
      }
    })().finally(() => {
      looking = undefined;
    });
    // A look that failed is not the last one: whoever asks next begins anew.
    await looking.catch(() => unwatch(dir));
  }

  return {
    async identityOf(name) {
      if (!watchers.has(dir)) {
        await mkdir(dir, { recursive: true, mode: 0o755 });
        await lookSoon();
      }
      await looking;
      // Just put there, its event may be on its way.
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
