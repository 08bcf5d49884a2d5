/** Waits until a block device shows up. Folders are watched, those included that do not exist yet; nothing is polled. */
import { type FSWatcher, watch } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import { dirname, normalize } from 'node:path';
import { asError, type Clock } from '#api/kit/clock.ts';
import { errorCode, VolumeSetupError } from '../setup-error.ts';
import type { DevicePaths, DeviceServices } from './contract.ts';

/** Longer than kernel and udev need, unless the device does not come at all. */
const LONGEST_WAIT_MS = 30_000;

export interface DeviceWaiterDeps {
  readonly clock: Clock;
  readonly paths: Pick<DevicePaths, 'dev'>;
}

/** What somebody waits for. */
export interface Awaited {
  /** Looks once. */
  readonly find: () => Promise<string | undefined>;
  /** Where something changes when it comes. */
  readonly folders: readonly string[];
  /** In words, for the error. */
  readonly what: string;
}

/** Codes of a path that does not lead anywhere yet. */
const NOT_YET: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'ENXIO']);

/** The block device that a path leads to; undefined while it leads to none.
 *  @throws the system's error, unless it says that there is none */
export async function findBlockDevice(path: string): Promise<string | undefined> {
  try {
    const device = await realpath(path);
    return (await stat(device)).isBlockDevice() ? device : undefined;
  } catch (thrown) {
    if (NOT_YET.has(errorCode(thrown) ?? '')) return undefined;
    throw thrown;
  }
}

/** Watches folders, or instead of one that does not exist the next one above it that does. */
class FolderWatch implements Disposable {
  #watchers = new Map<string, FSWatcher>();
  readonly #folders: readonly string[];
  readonly #changed: () => void;

  constructor(folders: readonly string[], changed: () => void) {
    this.#folders = [...new Set(folders)];
    this.#changed = changed;
  }

  /** To be called before each look. All are watched anew: a path may mean another folder by now. */
  arm(): void {
    const before = this.#watchers;
    this.#watchers = new Map();
    for (const folder of this.#folders) {
      for (let place = folder; !this.#watch(place) && place !== '/'; place = dirname(place));
    }
    for (const watcher of before.values()) watcher.close();
  }

  #watch(place: string): boolean {
    if (this.#watchers.has(place)) return true;
    try {
      // Names that come and go, and the end of the folder itself; what is written into devices tells nothing.
      const watcher = watch(place, (event) => {
        if (event === 'rename') this.#changed();
      });
      watcher.on('error', this.#changed);
      this.#watchers.set(place, watcher);
      return true;
    } catch (thrown) {
      if (NOT_YET.has(errorCode(thrown) ?? '')) return false;
      throw thrown;
    }
  }

  [Symbol.dispose](): void {
    for (const watcher of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
  }
}

/** @returns what `find` found
 *  @throws VolumeSetupError naming what did not come in time; what `find` throws; the signal's reason */
export async function waitForPath(clock: Clock, awaited: Awaited, signal: AbortSignal): Promise<string> {
  signal.throwIfAborted();
  const { what } = awaited;
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let looking = false;
  let again = false;
  const over = new AbortController();
  const look = async (): Promise<void> => {
    again = true;
    if (looking) return;
    looking = true;
    try {
      // A change while it looks may be one that it missed.
      while (again && !over.signal.aborted) {
        again = false;
        folders.arm();
        const found = await awaited.find();
        if (found !== undefined) resolve(found);
      }
    } catch (thrown) {
      reject(asError(thrown));
    } finally {
      looking = false;
    }
  };
  using folders = new FolderWatch(awaited.folders, () => void look());
  const onAbort = (): void => reject(asError(signal.reason));
  signal.addEventListener('abort', onAbort, { once: true });
  const timer = clock.setTimer(() => {
    reject(new VolumeSetupError(`${what} did not appear within ${LONGEST_WAIT_MS / 1000} s`));
  }, LONGEST_WAIT_MS);
  try {
    void look();
    return await promise;
  } finally {
    over.abort();
    timer.cancel();
    signal.removeEventListener('abort', onAbort);
  }
}

/** @returns the function by which sources wait for their devices */
export function createDeviceWaiter({ clock, paths }: DeviceWaiterDeps): DeviceServices['waitForDevice'] {
  return async (candidates, signal) => {
    for (const path of candidates) {
      if (path !== normalize(path) || !path.startsWith(`${paths.dev}/`)) {
        throw new VolumeSetupError(`${JSON.stringify(path)} is no path of a device`);
      }
    }
    const find = async (): Promise<string | undefined> => {
      const found = await Promise.all(candidates.map((path) => findBlockDevice(path)));
      return found.find((device) => device !== undefined);
    };
    // The device that a link leads to may come after the link.
    const folders = [paths.dev, ...candidates.map((path) => dirname(path))];
    return waitForPath(clock, { find, folders, what: candidates.join(' or ') }, signal);
  };
}
