/** Waiting for block devices. Watches directories, including those that do not exist yet, instead of
 *  polling. */
import { type FSWatcher, watch } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import { dirname, normalize } from 'node:path';
import type { Clock } from '#api/kit/clock.ts';
import { asError, errorCode } from '#api/kit/errno.ts';
import type { DevicePaths } from '../contract/device-paths.ts';
import type { DeviceServices } from '../contract/devices.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';

/** Longer than kernel and udev need for a device that appears. */
const WAIT_TIMEOUT_MS = 30_000;

export interface DeviceWaiterDeps {
  readonly clock: Clock;
  readonly paths: Pick<DevicePaths, 'dev'>;
}

/** An awaited path. */
export interface Awaited {
  /** Checks once. */
  readonly find: () => Promise<string | undefined>;
  /** Directories that change when it appears. */
  readonly folders: readonly string[];
  /** Description for the error. */
  readonly what: string;
}

/** Error codes of a path that does not lead anywhere yet. */
const NOT_YET: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'ENXIO']);

/** Returns the block device that a path leads to; undefined if there is none yet.
 *  @throws the system's error, unless it means that the path does not exist */
export async function findBlockDevice(path: string): Promise<string | undefined> {
  try {
    const device = await realpath(path);
    return (await stat(device)).isBlockDevice() ? device : undefined;
  } catch (thrown) {
    if (NOT_YET.has(errorCode(thrown) ?? '')) return undefined;
    throw thrown;
  }
}

/** Watches directories, or the nearest existing parent of one that does not exist. */
class FolderWatch implements Disposable {
  #watchers = new Map<string, FSWatcher>();
  readonly #folders: readonly string[];
  readonly #changed: () => void;

  constructor(folders: readonly string[], changed: () => void) {
    this.#folders = [...new Set(folders)];
    this.#changed = changed;
  }

  /** Call this before each check. Renews all watches, because a path may lead to another directory by now. */
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
      // Only creation and removal of names, and removal of the directory; writes to devices are irrelevant.
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

/** @returns the result of `find`
 *  @throws VolumeSetupError on timeout; the error of `find`; the signal's reason */
export async function waitForPath(clock: Clock, awaited: Awaited, signal: AbortSignal): Promise<string> {
  signal.throwIfAborted();
  const { what } = awaited;
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let checking = false;
  let again = false;
  const over = new AbortController();
  const check = async (): Promise<void> => {
    again = true;
    if (checking) return;
    checking = true;
    try {
      // The check may have missed a change during its run.
      while (again && !over.signal.aborted) {
        again = false;
        folders.arm();
        const found = await awaited.find();
        if (found !== undefined) resolve(found);
      }
    } catch (thrown) {
      reject(asError(thrown));
    } finally {
      checking = false;
    }
  };
  using folders = new FolderWatch(awaited.folders, () => void check());
  const onAbort = (): void => reject(asError(signal.reason));
  signal.addEventListener('abort', onAbort, { once: true });
  const timer = clock.setTimer(() => {
    reject(new VolumeSetupError(`${what} did not appear within ${WAIT_TIMEOUT_MS / 1000} s`));
  }, WAIT_TIMEOUT_MS);
  try {
    void check();
    return await promise;
  } finally {
    over.abort();
    timer.cancel();
    signal.removeEventListener('abort', onAbort);
  }
}

/** Returns the function by which sources wait for their devices. */
export function createDeviceWaiter({ clock, paths }: DeviceWaiterDeps): DeviceServices['waitForDevice'] {
  return async (candidates, signal) => {
    for (const path of candidates) {
      if (path !== normalize(path) || !path.startsWith(`${paths.dev}/`)) {
        throw new VolumeSetupError(`${JSON.stringify(path)} is not a device path`);
      }
    }
    const find = async (): Promise<string | undefined> => {
      const found = await Promise.all(candidates.map((path) => findBlockDevice(path)));
      return found.find((device) => device !== undefined);
    };
    // The target of a link may appear after the link.
    const folders = [paths.dev, ...candidates.map((path) => dirname(path))];
    return waitForPath(clock, { find, folders, what: candidates.join(' or ') }, signal);
  };
}
