/** Removes the log directories of pods that are gone. */
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { asError } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import { parsePodLogDirName } from '../logs/paths.ts';

/** Names of the directories to remove: of our form, and of a pod that is gone. Pure. */
export function decideLogDirs(
  names: readonly string[],
  isPodGone: (podUID: string) => boolean,
): readonly string[] {
  return names.filter((name) => {
    const pod = parsePodLogDirName(name);
    return pod !== undefined && isPodGone(pod.podUID);
  });
}

/** Removes them; one that cannot be removed is logged and tried again in the next round. Symlinks are removed, not
 *  followed. Returns the names removed.
 * @param podLogsDir the pod logs directory; a missing one holds nothing. */
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
      log.warn({ err: asError(thrown), dir: name }, 'Pod log directory not removed');
    }
  }
  return removed;
}

async function listDir(dir: string): Promise<readonly string[]> {
  try {
    return await readdir(dir);
  } catch (thrown) {
    const error = asError(thrown);
    if ('code' in error && error.code === 'ENOENT') return [];
    throw error;
  }
}
