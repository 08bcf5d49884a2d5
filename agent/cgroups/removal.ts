/** Removes cgroup directories, innermost first, and kills the processes in them. */

import { join } from 'node:path';
import { type Clock, sleep } from '#api/kit/clock.ts';
import { hasCode } from '#api/kit/errno.ts';
import type { CgroupFs } from './cgroup-fs.ts';

/** A cgroup cannot be removed: its processes do not exit. */
export class CgroupBusyError extends Error {
  override readonly name = 'CgroupBusyError';

  constructor(folder: string, cause: unknown) {
    super(`cgroup ${folder} was not removed`, { cause });
  }
}

export interface RemovalDeps {
  readonly fs: CgroupFs;
  readonly clock: Clock;
  readonly kill: (pid: number) => void;
}

/** The kernel notices the exit of the last process with a delay. */
const TRIES = 40;
const TRY_AFTER_MS = 25;

const isGone = (thrown: unknown): boolean => hasCode(thrown, 'ENOENT', 'ENODEV');

/** Sends SIGKILL; a process that has exited is ignored. */
export function killProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (thrown) {
    if (!hasCode(thrown, 'ESRCH')) throw thrown;
  }
}

/** Parses `cgroup.procs`. Skips 0, which stands for processes of other namespaces, and process 1. */
export const pidsIn = (text: string): readonly number[] =>
  text
    .split('\n')
    .map(Number)
    .filter((pid) => Number.isSafeInteger(pid) && pid > 1);

/** Returns the processes of the cgroup and its descendants; none of one that is gone. */
export async function processesBelow(fs: CgroupFs, folder: string): Promise<readonly number[]> {
  const own = await fs.read(join(folder, 'cgroup.procs')).then(pidsIn, () => []);
  const names = await fs.folders(folder).catch(() => []);
  const below = await Promise.all(names.map((name) => processesBelow(fs, join(folder, name))));
  return [...own, ...below.flat()];
}

async function endProcesses({ fs, kill }: RemovalDeps, folder: string): Promise<void> {
  const switchFile = join(folder, 'cgroup.kill');
  // cgroup v2 since Linux 5.14: no process can fork in between.
  if (await fs.exists(switchFile)) return fs.write(switchFile, '1');
  for (const pid of await processesBelow(fs, folder)) kill(pid);
}

async function removeFolder(fs: CgroupFs, folder: string): Promise<void> {
  const names = await fs.folders(folder).catch(() => []);
  for (const name of names) await removeFolder(fs, join(folder, name));
  await fs.rmdir(folder).catch((thrown: unknown) => {
    if (!isGone(thrown)) throw thrown;
  });
}

/** Removes the directory of a cgroup with its descendants. Idempotent.
 *  @throws CgroupBusyError */
export async function removeCgroupFolder(deps: RemovalDeps, folder: string): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await removeFolder(deps.fs, folder);
    } catch (thrown) {
      if (!hasCode(thrown, 'EBUSY') || attempt >= TRIES) throw new CgroupBusyError(folder, thrown);
      await endProcesses(deps, folder);
      await sleep(deps.clock, TRY_AFTER_MS);
    }
  }
}
