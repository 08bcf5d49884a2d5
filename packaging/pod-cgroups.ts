/** Takes the cgroups away that pods were in, when the agent goes for good. Only what is empty: nothing is ended. */
import { readdir, readFile, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Systemctl } from './systemctl.ts';

export interface PodCgroupsDeps {
  readonly systemctl: Systemctl;
  readonly say: (text: string) => void;
}

export interface PodCgroupsOptions {
  /** In which the agent noted the path of the cgroup of all pods. */
  readonly note: string;
  /** Where cgroups are mounted. */
  readonly mountRoot?: string;
}

const PATH = /^(?:\/[A-Za-z0-9][A-Za-z0-9._:-]*)+$/;
const SLICE = '.slice';

async function foldersIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(folder, name));
}

/** Whether a process is in the cgroup or below it. */
async function isUsed(folder: string): Promise<boolean> {
  const processes = await readFile(join(folder, 'cgroup.procs'), 'utf8').catch(() => '');
  if (processes.trim() !== '') return true;
  for (const below of await foldersIn(folder)) if (await isUsed(below)) return true;
  return false;
}

/** The kernel refuses what is not empty. */
async function removeEmpty(folder: string): Promise<void> {
  for (const below of await foldersIn(folder)) await removeEmpty(below);
  await rmdir(folder).catch(() => undefined);
}

/** The cgroup in every hierarchy that has it: of version 1 each controller has its own. */
async function everywhere(path: string, mountRoot: string): Promise<readonly string[]> {
  const roots = [mountRoot, ...(await foldersIn(mountRoot))];
  const found = await Promise.all(
    roots.map(async (root) =>
      (await readdir(join(root, path)).catch(() => undefined)) ? [join(root, path)] : [],
    ),
  );
  return found.flat();
}

/** Says so where pods are left, and leaves everything then. */
export async function removePodCgroups(
  { systemctl, say }: PodCgroupsDeps,
  { note, mountRoot = '/sys/fs/cgroup' }: PodCgroupsOptions,
): Promise<void> {
  const path = (await readFile(note, 'utf8').catch(() => '')).trim();
  if (!PATH.test(path) || path.split('/').includes('..')) return;
  const folders = await everywhere(path, mountRoot);
  const used = await Promise.all(folders.map(isUsed));
  if (used.includes(true)) return say(`processes are left in the cgroup ${path}, which stays`);
  if (folders.length > 0 && path.endsWith(SLICE)) {
    // Else systemd would go on to think that it is there. With all that it knows below it.
    await systemctl(['stop', path.split('/').at(-1) ?? '']).catch(() => undefined);
  }
  for (const folder of folders) await removeEmpty(folder);
}
