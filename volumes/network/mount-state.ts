/** Whether a directory is mounted, and how a mount goes away: by the mount table alone, without touching the file
 *  system. Its server may be gone, and whoever looks at it then waits in the kernel for ever. */
import { realpath } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Mounter } from '../mounter.ts';
import type { MountInfo } from '../mountinfo.ts';
import { errorCode } from '../setup-error.ts';
import { MNT_DETACH, UMOUNT_NOFOLLOW } from '../syscalls.ts';

/** The path as the mount table has it; the last part is not looked at. Undefined when its parent doesn't exist. */
export async function tablePath(dir: string): Promise<string | undefined> {
  try {
    return join(await realpath(dirname(dir)), basename(dir));
  } catch (thrown) {
    if (errorCode(thrown) === 'ENOENT') return undefined;
    throw thrown;
  }
}

/** What is mounted at the directory, the uppermost if several are; undefined if nothing is. */
export async function mountAt(mounter: Pick<Mounter, 'list'>, dir: string): Promise<MountInfo | undefined> {
  const path = await tablePath(dir);
  if (path === undefined) return undefined;
  return (await mounter.list()).findLast(({ mountPoint }) => mountPoint === path);
}

/** Takes the mounts at the directory out of the tree at once, whether or not their server answers; those who use them
 *  keep them. Does nothing when others are mounted inside.
 *  @throws SyscallError */
export async function detachAt(mounter: Pick<Mounter, 'list' | 'syscalls'>, dir: string): Promise<void> {
  const path = await tablePath(dir);
  if (path === undefined) return;
  const mounts = await mounter.list();
  if (mounts.some(({ mountPoint }) => mountPoint.startsWith(`${path}/`))) return;
  for (const { mountPoint } of mounts) {
    if (mountPoint === path) await mounter.syscalls.unmount(path, MNT_DETACH | UMOUNT_NOFOLLOW);
  }
}
