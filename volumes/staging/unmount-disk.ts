/** Unmounting a file system that the node has once. Not lazily: when it is gone from the table, its data is on the
 *  device, which may be detached. By a program, since the kernel may wait for a device or a server meanwhile. */
import { realpath } from 'node:fs/promises';
import { type MountInfo, mountsBeneath } from '../mountinfo.ts';
import { failText } from '../programs/errors.ts';
import { VolumeSetupError } from '../setup-error.ts';
import type { UndoServices } from '../sources/source.ts';

/** Writing back what is still in memory takes its time. */
const LONGEST_UNMOUNT_MS = 120_000;

/** Places beneath `rootDir` that show what is mounted at `dir`, other than those in it. Pure.
 *  A copy of it in a pod's folder keeps the device in use, whatever the records say. */
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

/** Unmounts everything at `dir`, a directory that only root can steer. Harmless when nothing is mounted there.
 *  @throws VolumeSetupError when it stays mounted */
export async function unmountDisk(
  { mounter, run }: Pick<UndoServices, 'mounter' | 'run'>,
  dir: string,
  signal: AbortSignal,
): Promise<void> {
  const path = await realpath(dir);
  for (const { mountPoint } of mountsBeneath(await mounter.list(), path)) {
    const result = await run('umount', ['-n', '-c', mountPoint], { signal, timeoutMs: LONGEST_UNMOUNT_MS });
    if (result.code !== 0) throw new VolumeSetupError(failText('umount', result));
  }
}
