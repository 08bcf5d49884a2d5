/** Takes down what the disk and the mount table show of a pod, without knowing its specification. Mounts first,
 *  newest first; then the folders, which the kernel itself keeps from reaching across a mount. */
import { constants } from 'node:fs';
import { readdir, realpath, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { settleAll } from './entries.ts';
import { type Held, holdAt, holdDir, holdPath } from './held-dir.ts';
import { SUB_PATHS, VOLUME_DEVICES, VOLUME_RECORDS, VOLUMES } from './layout.ts';
import type { Mounter } from './mounter.ts';
import { type MountInfo, mountsBeneath } from './mountinfo.ts';
import type { RunProgram } from './programs/contract.ts';
import { detachRemote, remoteByPath } from './remote-mounts.ts';
import { removeTree } from './remove-tree.ts';
import { errorCode, unlessCode, VolumeSetupError } from './setup-error.ts';
import { O_PATH, RESOLVE_BENEATH, RESOLVE_NO_SYMLINKS } from './syscalls.ts';

/** Each round uncovers what was hidden by the last; more depth than this is somebody mounting against us. */
const MOST_ROUNDS = 100;

async function holdMount(mounter: Mounter, base: Held, dir: string, mount: MountInfo): Promise<Held> {
  if (mount.mountPoint === dir) return holdPath(dir);
  // The way there may lead through a volume in which a container moves things about.
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
  // A mount hidden by another, or gone with the one that carried it, counts only if nothing moved.
  if (failures.length === mounts.length) {
    throw new AggregateError(failures, `mounts beneath ${dir} could not be detached`);
  }
}

/** Detaches every mount at `dir` or beneath it; nothing happens when `dir` doesn't exist.
 *  @param run for mounts whose server may be gone, so that nothing else waits for it
 *  @throws AggregateError or VolumeSetupError when a mount stays */
export async function detachBeneath(mounter: Mounter, dir: string, run?: RunProgram): Promise<void> {
  const path = await realpathOf(dir);
  if (path === undefined) return;
  for (let round = 0; round < MOST_ROUNDS; round += 1) {
    const mounts = mountsBeneath(await mounter.list(), path);
    if (mounts.length === 0) return;
    const { signal } = new AbortController();
    const remote = run === undefined ? [] : remoteByPath(mounts);
    const others = mounts.filter((mount) => !remote.includes(mount));
    if (run !== undefined)
      await settleAll(remote.map(({ mountPoint }) => detachRemote({ mounter, run }, mountPoint, signal)));
    if (others.length > 0) await detachEach(mounter, path, others);
  }
  throw new VolumeSetupError(`something keeps mounting beneath ${dir}`);
}

/** The path without links; undefined when there is nothing. */
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

/** Detaches and removes the volumes and subPaths of the pod at `dir`, then `dir` itself if nothing else is in it.
 *  @throws AggregateError, SyscallError; what is left is found again by the next call */
export async function tearDownPod(mounter: Mounter, dir: string, run?: RunProgram): Promise<void> {
  const found = await holdExisting(dir);
  if (found === undefined) return;
  await using pod = found;
  for (const folder of [SUB_PATHS, VOLUME_DEVICES, VOLUMES])
    await detachBeneath(mounter, join(dir, folder), run);
  // The records last: until then there may be something that they tell how to undo.
  for (const folder of [SUB_PATHS, VOLUME_DEVICES, VOLUMES, VOLUME_RECORDS])
    await removeTree(mounter.syscalls, pod, folder);
  await unlessCode(['ENOTEMPTY', 'ENOENT'], () => rmdir(dir));
}

/** The same for the subPaths of one container, in the directory that holds those of all volumes. */
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
