/** Removes the cgroups of pods when the agent is uninstalled. Removes only empty ones: no process is stopped. */
import { readdir, readFile, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Systemctl } from '#api/kit/install/systemctl.ts';

export interface PodCgroupsDeps {
  readonly systemctl: Systemctl;
  readonly say: (text: string) => void;
}

export interface PodCgroupsOptions {
  /** File in which the agent recorded the path of the parent cgroup of all pods. */
  readonly note: string;
  /** Mount point of cgroups. */
  readonly mountRoot?: string;
}

const PATH = /^(?:\/[A-Za-z0-9][A-Za-z0-9._:-]*)+$/;
const SLICE = '.slice';

async function foldersIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(folder, name));
}

/** Reports whether a process is in the cgroup or below it. */
async function isUsed(folder: string): Promise<boolean> {
  const processes = await readFile(join(folder, 'cgroup.procs'), 'utf8').catch(() => '');
  if (processes.trim() !== '') return true;
  for (const below of await foldersIn(folder)) if (await isUsed(below)) return true;
  return false;
}

/** The kernel rejects removing a non-empty cgroup. */
async function removeEmpty(folder: string): Promise<void> {
  for (const below of await foldersIn(folder)) await removeEmpty(below);
  await rmdir(folder).catch(() => undefined);
}

/** Returns the cgroup in every hierarchy that has it: with version 1, each controller has its own hierarchy. */
async function everywhere(path: string, mountRoot: string): Promise<readonly string[]> {
  const roots = [mountRoot, ...(await foldersIn(mountRoot))];
  const found = await Promise.all(
    roots.map(async (root) =>
      (await readdir(join(root, path)).catch(() => undefined)) ? [join(root, path)] : [],
    ),
  );
  return found.flat();
}

/** Reports remaining processes, and removes nothing in that case. */
export async function removePodCgroups(
  { systemctl, say }: PodCgroupsDeps,
  { note, mountRoot = '/sys/fs/cgroup' }: PodCgroupsOptions,
): Promise<void> {
  const path = (await readFile(note, 'utf8').catch(() => '')).trim();
  if (!PATH.test(path) || path.split('/').includes('..')) return;
  const folders = await everywhere(path, mountRoot);
  const used = await Promise.all(folders.map(isUsed));
  if (used.includes(true)) return say(`processes remain in cgroup ${path}; it was not removed`);
  if (folders.length > 0 && path.endsWith(SLICE)) {
    // Otherwise systemd would consider the slice, and all units below it, still active.
    await systemctl(['stop', path.split('/').at(-1) ?? '']).catch(() => undefined);
  }
  for (const folder of folders) await removeEmpty(folder);
}
