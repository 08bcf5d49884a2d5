/** Symbolic links for log collectors: `<linksDir>/<pod>_<namespace>_<container>-<id>.log` to the log of a
 *  container. */

import { readdir, readlink, rename, rm, stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { hasCode } from '#api/kit/errno.ts';
import { makeOpenFolder } from '#api/kit/files/open-folder.ts';
import type { Logger } from '#api/kit/logger.ts';
import { type ContainerLogIdentity, containerIDOfLink, containerLinkName } from './paths.ts';

export interface LogLinks {
  /** Creates the link of a started container, or replaces one with another target. */
  link(container: ContainerLogIdentity, logPath: string): Promise<void>;
  /** Removes the link of a removed container. */
  unlink(container: ContainerLogIdentity): Promise<void>;
  /** Removes links to missing logs, except those of `liveContainerIDs`: their log may be between two files of
   *  a rotation. Returns the removed names. */
  removeDead(liveContainerIDs: ReadonlySet<string>): Promise<readonly string[]>;
}

export interface LogLinksDeps {
  readonly log: Logger;
}

async function readLinkOrNothing(path: string): Promise<string | undefined> {
  try {
    return await readlink(path);
  } catch {
    return undefined; // absent, or not a link, which `symlink` will report
  }
}

async function isDangling(path: string): Promise<boolean> {
  try {
    await stat(path);
    return false;
  } catch (thrown) {
    return hasCode(thrown, 'ENOENT') && (await readLinkOrNothing(path)) !== undefined;
  }
}

/** @param linksDir directory of the links, created if missing; `/var/log/containers` on most nodes. */
export function createLogLinks(deps: LogLinksDeps, linksDir: string): LogLinks {
  const { log } = deps;
  return {
    async link(container, logPath) {
      const path = join(linksDir, containerLinkName(container));
      const target = await readLinkOrNothing(path);
      if (target === logPath) return;
      // Log collectors read it as an arbitrary user.
      await makeOpenFolder(linksDir);
      if (target === undefined) return await symlink(logPath, path);
      const temporary = `${path}.tmp`;
      await rm(temporary, { force: true });
      await symlink(logPath, temporary);
      await rename(temporary, path);
    },
    async unlink(container) {
      await rm(join(linksDir, containerLinkName(container)), { force: true });
    },
    async removeDead(liveContainerIDs) {
      const removed: string[] = [];
      for (const name of await listOrNothing(linksDir)) {
        const containerID = containerIDOfLink(name);
        if (!name.endsWith('.log') || (containerID !== undefined && liveContainerIDs.has(containerID)))
          continue;
        const path = join(linksDir, name);
        if (!(await isDangling(path))) continue;
        await rm(path, { force: true });
        removed.push(name);
      }
      if (removed.length > 0) log.debug({ links: removed.length }, 'Dead log links removed');
      return removed;
    },
  };
}

async function listOrNothing(dir: string): Promise<readonly string[]> {
  try {
    return await readdir(dir);
  } catch (thrown) {
    if (hasCode(thrown, 'ENOENT')) return [];
    throw thrown;
  }
}
