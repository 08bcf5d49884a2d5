/** Clean-up after test runs that were killed before they could clean up themselves. */
import { existsSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { removeCgroupTree } from '#agent/runtime/managed/cgroup-tree.ts';
import { containerdLayout, type LayoutOptions } from '#agent/runtime/managed/layout.ts';
import { listProcesses } from '#agent/runtime/managed/process.ts';
import { isAlive, unmountUnder } from '#agent/runtime/managed/purge.ts';
import { removeManagedContainerd } from '#agent/runtime/managed/remove.ts';
import { hasCode } from '#api/kit/errno.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { hadDockerd, removeDockerd } from './dockerd.ts';
import { forEachAbandoned } from './owners.ts';

interface ContainerdLocation extends LayoutOptions {
  readonly networkName: string;
}

/** Returns the options of the containerd in a directory of `startTestContainerd`. */
export const containerdIn = (folder: string): ContainerdLocation => ({
  rootDir: `${folder}/root`,
  stateDir: `${folder}/state`,
  socketPath: `${folder}/c.sock`,
  networkName: basename(folder),
});

/** Kills programs that were started with a path in the directory, such as agents. */
async function killUsers(folder: string): Promise<void> {
  for (const { pid, args, program } of await listProcesses()) {
    // containerd and its shims end in order.
    if (pid === process.pid || program.startsWith('containerd')) continue;
    if (!args.some((arg) => arg.includes(`${folder}/`))) continue;
    try {
      process.kill(pid, 'SIGKILL');
    } catch (thrown) {
      if (!hasCode(thrown, 'ESRCH')) throw thrown;
    }
  }
}

async function removeFolder(folder: string): Promise<void> {
  const containerd = containerdIn(folder);
  await killUsers(folder);
  const layout = containerdLayout(containerd);
  if (existsSync(layout.configPath) || (await isAlive(layout))) {
    await removeManagedContainerd({ ...containerd, log: silentLogger });
  }
  if (hadDockerd(folder)) await removeDockerd(folder);
  await unmountUnder([folder]);
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
}

/** Removes the temporary directories of processes that have exited, with everything that runs or is mounted
 *  there. One that cannot be removed does not prevent the run: its name is not used again. Returns what was
 *  removed, and why others were not. */
export async function removeAbandonedFolders(): Promise<{
  readonly removed: readonly string[];
  readonly errors: readonly Error[];
}> {
  const removed: string[] = [];
  const errors = await forEachAbandoned(async (folder) => {
    await removeFolder(folder);
    removed.push(folder);
  });
  return { removed, errors };
}

const TEST_CGROUP = /^na-test-(na-[\w-]+)$/;

/** Removes cgroups of test agents whose directories are gone. */
export async function removeAbandonedCgroups(mountRoot = '/sys/fs/cgroup'): Promise<void> {
  const hierarchies = await readdir(mountRoot).catch(() => []);
  const found = await Promise.all(
    ['', ...hierarchies].map((name) => readdir(join(mountRoot, name)).catch(() => [])),
  );
  for (const name of new Set(found.flat())) {
    const folder = TEST_CGROUP.exec(name)?.[1];
    if (folder === undefined || existsSync(join('/tmp', folder))) continue;
    // Processes that still run there belong to another run.
    await removeCgroupTree(`/${name}`).catch(() => undefined);
  }
}
