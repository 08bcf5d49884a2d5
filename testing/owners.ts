/** Records which process created which temporary directory, so that a later run can remove those of a process
 *  that was killed. A process is identified by its pid, its start time and the boot, as pids are reused. */

import { appendFileSync } from 'node:fs';
import { chmod, lstat, mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';

/** Other users' directories of this name are not trusted. */
const registry = (): string => `/tmp/na-owners-${process.getuid?.() ?? 0}`;
const RECORD = /^([0-9a-f-]+)_(\d+)_(\d+)$/;
const OWNABLE = /^\/tmp\/na-[\w-]+$/;
/** Field 22 of /proc/<pid>/stat, counted from the one after the command. */
const START_TIME = 19;

/** Returns the identity of a running process; undefined if none with this pid runs. */
async function identityOf(pid: number | 'self'): Promise<string | undefined> {
  try {
    const [boot, stat] = await Promise.all([
      readFile('/proc/sys/kernel/random/boot_id', 'utf8'),
      readFile(`/proc/${pid}/stat`, 'utf8'),
    ]);
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (fields[0] === 'Z') return undefined;
    return `${boot.trim()}_${stat.split(' ', 1)[0]}_${fields[START_TIME]}`;
  } catch {
    return undefined;
  }
}

async function isTrusted(): Promise<boolean> {
  const found = await lstat(registry()).catch(() => undefined);
  return found?.isDirectory() === true && found.uid === process.getuid?.();
}

/** Records this process as the owner of the directory. */
export async function recordOwner(folder: string): Promise<void> {
  await mkdir(registry(), { recursive: true, mode: 0o700 });
  const identity = await identityOf('self');
  if (identity === undefined || !(await isTrusted())) return;
  await chmod(registry(), 0o700);
  appendFileSync(join(registry(), identity), `${folder}\n`);
}

/** Calls `remove` for every directory whose owner has exited, and forgets the owners of which all could be
 *  removed. Owners that run, also those of concurrent runs, are left alone. Returns the failures. */
export async function forEachAbandoned(remove: (folder: string) => Promise<void>): Promise<readonly Error[]> {
  if (!(await isTrusted())) return [];
  const errors: Error[] = [];
  for (const name of await readdir(registry())) {
    const pid = RECORD.exec(name)?.[2];
    if (pid === undefined || (await identityOf(Number(pid))) === name) continue;
    const path = join(registry(), name);
    // A concurrent run may have removed everything meanwhile.
    const recorded = await readFile(path, 'utf8').catch(() => '');
    const folders = recorded.split('\n').filter((line) => OWNABLE.test(line));
    const before = errors.length;
    for (const folder of folders) {
      if ((await lstat(folder).catch(() => undefined)) === undefined) continue;
      await remove(folder).catch((cause: unknown) => {
        errors.push(new Error(`${folder} of an earlier run was not removed`, { cause }));
      });
    }
    if (errors.length === before) await rm(path, { force: true });
  }
  return errors;
}
