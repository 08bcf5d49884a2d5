/** Clean-up after test runs that were killed before they could clean up themselves. */
import { existsSync } from 'node:fs';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { removeCgroupTree } from '#agent/runtime/managed/cgroup-tree.ts';
import { parsePidFile, readProcess } from '#agent/runtime/managed/process.ts';
import { removeManagedContainerd } from '#agent/runtime/managed/remove.ts';
import { silentLogger } from '#api/kit/logger.ts';

const OWNER_FILE = 'owner.pid';

/** Records that this process owns the containerd in the directory. */
export async function claimFolder(folder: string): Promise<void> {
  await writeFile(join(folder, OWNER_FILE), `${process.pid}\n`);
}

/** Removes the containerds of `/tmp/na-…` whose owner has exited; returns their directories. */
export async function removeAbandonedContainerds(): Promise<readonly string[]> {
  const names = (await readdir('/tmp')).filter((name) => name.startsWith('na-'));
  const abandoned: string[] = [];
  for (const name of names) {
    const folder = join('/tmp', name);
    const owner = parsePidFile(await readOwner(folder));
    if (owner === undefined || (await readProcess(owner))?.program.startsWith('node') === true) continue;
    await removeManagedContainerd({
      rootDir: `${folder}/root`,
      stateDir: `${folder}/state`,
      socketPath: `${folder}/c.sock`,
      networkName: name,
      log: silentLogger,
    });
    await rm(folder, { recursive: true, force: true });
    abandoned.push(folder);
  }
  return abandoned;
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

async function readOwner(folder: string): Promise<string> {
  try {
    return await readFile(join(folder, OWNER_FILE), 'utf8');
  } catch {
    // Not one of ours.
    return '';
  }
}
