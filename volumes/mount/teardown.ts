/** Teardown of a pod's volumes from the disk and the mount table, without its specification. Mounts first,
 *  newest first; then the directories, whose removal the kernel stops at mounts. */
import { constants } from 'node:fs';
import { readdir, realpath, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCode, unlessCode } from '#api/kit/errno.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';
import { settleAll } from '../files/entries.ts';
import { type Held, holdAt, holdDir, holdPath } from '../files/held-dir.ts';
import { SUB_PATHS, VOLUME_DEVICES, VOLUME_RECORDS, VOLUMES } from '../files/layout.ts';
import { removeTree } from '../files/remove-tree.ts';
import { O_PATH, RESOLVE_BENEATH, RESOLVE_NO_SYMLINKS } from '../files/syscalls.ts';
import type { RunProgram } from '../programs/contract.ts';
import type { Mounter } from './mounter.ts';
import { type MountInfo, mountsBeneath } from './mountinfo.ts';
import { detachRemote, remoteByPath } from './remote-mounts.ts';

/** Each round uncovers mounts hidden by others; more rounds mean that a process keeps mounting. */
const MAX_ROUNDS = 100;

async function holdMount(mounter: Mounter, base: Held, dir: string, mount: MountInfo): Promise<Held> {
  if (mount.mountPoint === dir) return holdPath(dir);
  // The path may lead through a volume in which a container renames directories.
  return holdAt(mounter.syscalls, base, mount.mountPoint.slice(dir.length + 1), {
    flags: O_PATH | constants.O_NOFOLLOW,
    resolve: RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
  });
}

async function detachEach(mounter: Mounter, dir: string, mounts: readonly MountInfo[]): Promise<void> {
  const failures: unknown[] = [];
  await using base = await holdDir(dir);
  for (const mount of mounts) {
    try {
      await using held = await holdMount(mounter, base, dir, mount);
      await mounter.detach(held);
    } catch (thrown) {
      failures.push(thrown);
    }
  }
  // A hidden mount, or one detached with its parent, is an error only if no progress was made.
  if (failures.length === mounts.length) {
    throw new AggregateError(failures, `failed to detach mounts beneath ${dir}`);
  }
}

/** Detaches every mount at `dir` or beneath it; does nothing when `dir` does not exist.
 *  @param run for mounts whose server may be unreachable, so that nothing else waits for them
 *  @throws AggregateError or VolumeSetupError when a mount stays */
export async function detachBeneath(mounter: Mounter, dir: string, run?: RunProgram): Promise<void> {
  const path = await realpathOf(dir);
  if (path === undefined) return;
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const mounts = mountsBeneath(await mounter.list(), path);
    if (mounts.length === 0) return;
    const { signal } = new AbortController();
    const remote = run === undefined ? [] : remoteByPath(mounts);
    const others = mounts.filter((mount) => !remote.includes(mount));
    if (run !== undefined)
      await settleAll(remote.map(({ mountPoint }) => detachRemote({ mounter, run }, mountPoint, signal)));
    if (others.length > 0) await detachEach(mounter, path, others);
  }
  throw new VolumeSetupError(`mounts keep appearing beneath ${dir}`);
}

/** Returns the path without links; undefined when it does not exist. */
export async function realpathOf(dir: string): Promise<string | undefined> {
  try {
    return await realpath(dir);
  } catch (thrown) {
    if (errorCode(thrown) === 'ENOENT') return undefined;
    throw thrown;
  }
}

async function holdExisting(dir: string): Promise<Held | undefined> {
  try {
    return await holdDir(dir);
  } catch (thrown) {
    if (errorCode(thrown) === 'ENOENT') return undefined;
    throw thrown;
  }
}

/** Detaches and removes the volumes and subPaths of the pod at `dir`, then `dir` itself if it is empty.
 *  @throws AggregateError, SyscallError; the next call finds what is left */
export async function tearDownPod(mounter: Mounter, dir: string, run?: RunProgram): Promise<void> {
  const found = await holdExisting(dir);
  if (found === undefined) return;
  await using pod = found;
  for (const folder of [SUB_PATHS, VOLUME_DEVICES, VOLUMES])
    await detachBeneath(mounter, join(dir, folder), run);
  // Records last: until then they are needed to undo the rest.
  for (const folder of [SUB_PATHS, VOLUME_DEVICES, VOLUMES, VOLUME_RECORDS])
    await removeTree(mounter.syscalls, pod, folder);
  await unlessCode(['ENOTEMPTY', 'ENOENT'], () => rmdir(dir));
}

/** Does the same for the subPaths of one container, in the directory of those of all volumes. */
export async function tearDownSubPaths(
  mounter: Mounter,
  dir: string,
  containerName: string,
  run?: RunProgram,
): Promise<void> {
  const found = await holdExisting(dir);
  if (found === undefined) return;
  await found[Symbol.asyncDispose]();
  for (const volumeName of await readdir(dir)) {
    const volume = join(dir, volumeName);
    await detachBeneath(mounter, join(volume, containerName), run);
    await using held = await holdDir(volume);
    await removeTree(mounter.syscalls, held, containerName);
    await unlessCode(['ENOTEMPTY', 'ENOENT'], () => rmdir(volume));
  }
}
