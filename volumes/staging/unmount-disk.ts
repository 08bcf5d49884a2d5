/** Unmounting of a file system that is mounted once per node. Not lazily: when it has left the mount
 *  table, its data is on the device, which may be detached. Uses a program, since the kernel may block on
 *  a device or a server. */
import { realpath } from 'node:fs/promises';
import type { UndoServices } from '../contract/source.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';
import { type MountInfo, mountsBeneath } from '../mount/mountinfo.ts';
import { failText } from '../programs/errors.ts';

/** Writing back cached data may take long. */
const UNMOUNT_TIMEOUT_MS = 120_000;

/** Returns mount points beneath `rootDir` that show the file system mounted at `dir`, except those in it.
 *  Pure.
 *  A bind mount in a pod's directory keeps the device in use, whatever the records say. */
export function mountsElsewhere(
  mounts: readonly MountInfo[],
  dir: string,
  rootDir: string,
): readonly string[] {
  const own = mounts.filter(({ mountPoint }) => mountPoint === dir);
  const isCopy = ({ device, root }: MountInfo): boolean =>
    own.some(
      (mount) =>
        mount.device === device &&
        (mount.root === '/' || mount.root === root || root.startsWith(`${mount.root}/`)),
    );
  const inside = new Set(mountsBeneath(mounts, dir));
  return mountsBeneath(mounts, rootDir)
    .filter((mount) => !inside.has(mount) && isCopy(mount))
    .map(({ mountPoint }) => mountPoint);
}

/** Unmounts everything at `dir`, a directory that only root can change. Idempotent.
 *  @throws VolumeSetupError when it stays mounted */
export async function unmountDisk(
  { mounter, run }: Pick<UndoServices, 'mounter' | 'run'>,
  dir: string,
  signal: AbortSignal,
): Promise<void> {
  const path = await realpath(dir);
  for (const { mountPoint } of mountsBeneath(await mounter.list(), path)) {
    const result = await run('umount', ['-n', '-c', mountPoint], { signal, timeoutMs: UNMOUNT_TIMEOUT_MS });
    if (result.code !== 0) throw new VolumeSetupError(failText('umount', result));
  }
}
