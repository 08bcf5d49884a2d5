/** Removal of a cgroup tree from every hierarchy of the machine. */

import { readdir, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { hasCode } from '#api/kit/errno.ts';

/** A cgroup that is still in use. */
export class CgroupBusyError extends Error {
  constructor(folder: string, cause: unknown) {
    super(`cgroup ${folder} was not removed`, { cause });
    this.name = 'CgroupBusyError';
  }
}

const TRIES = 40;
const TRY_AFTER_MS = 25;

/** Removes the cgroup `path` (such as `/nodeagent-demo`) and its descendants, if it exists.
 *  Its processes must have exited; the kernel may notice with a delay.
 *  @throws CgroupBusyError, RangeError for the root */
export async function removeCgroupTree(path: string, mountRoot = '/sys/fs/cgroup'): Promise<void> {
  if (!/^(?:\/[^/]+)+$/.test(path) || path.split('/').includes('..')) {
    throw new RangeError(`${path} is not the path of a cgroup below the root`);
  }
  const hierarchies = await listFolders(mountRoot);
  for (const folder of [mountRoot, ...hierarchies.map((name) => join(mountRoot, name))]) {
    await removeTree(join(folder, path));
  }
}

async function removeTree(folder: string): Promise<void> {
  for (const name of await listFolders(folder)) await removeTree(join(folder, name));
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await rmdir(folder);
    } catch (thrown) {
      if (hasCode(thrown, 'ENOENT')) return;
      if (attempt >= TRIES) throw new CgroupBusyError(folder, thrown);
      await new Promise((resolve) => setTimeout(resolve, TRY_AFTER_MS));
    }
  }
}

async function listFolders(folder: string): Promise<readonly string[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  } catch {
    // The cgroup does not exist in this hierarchy.
    return [];
  }
}
