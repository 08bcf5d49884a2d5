/** Removes the log directories of removed pods. */

import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { asError, hasCode } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import { parsePodLogDirName } from '../logs/paths.ts';

/** Returns the names of directories to remove: of the agent's form, and of a removed pod. Pure. */
function decideLogDirs(names: readonly string[], isPodGone: (podUID: string) => boolean): readonly string[] {
  return names.filter((name) => {
    const pod = parsePodLogDirName(name);
    return pod !== undefined && isPodGone(pod.uid);
  });
}

/** Removes them; failures are logged and retried in the next round. Symlinks are removed, not followed.
 *  Returns the removed names.
 *  @param podLogsDir the pod logs directory, which may be missing */
export async function removeLogDirs(
  podLogsDir: string,
  isPodGone: (podUID: string) => boolean,
  log: Logger,
): Promise<readonly string[]> {
  const removed: string[] = [];
  for (const name of decideLogDirs(await listDir(podLogsDir), isPodGone)) {
    try {
      await rm(join(podLogsDir, name), { recursive: true, force: true });
      removed.push(name);
    } catch (thrown) {
      log.warn({ err: asError(thrown), dir: name }, 'Failed to remove pod log directory');
    }
  }
  return removed;
}

async function listDir(dir: string): Promise<readonly string[]> {
  try {
    return await readdir(dir);
  } catch (thrown) {
    if (hasCode(thrown, 'ENOENT')) return [];
    throw thrown;
  }
}
