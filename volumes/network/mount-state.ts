/** Mount state and unmounting by the mount table alone, without touching the file system: access to an
 *  unreachable server blocks in the kernel indefinitely. */
import { realpath } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { errorCode } from '#api/kit/errno.ts';
import { MNT_DETACH, UMOUNT_NOFOLLOW } from '../files/syscalls.ts';
import type { Mounter } from '../mount/mounter.ts';
import type { MountInfo } from '../mount/mountinfo.ts';

/** Returns the path as in the mount table; its last part is not accessed. Undefined when its parent does
 *  not exist. */
export async function tablePath(dir: string): Promise<string | undefined> {
  try {
    return join(await realpath(dirname(dir)), basename(dir));
  } catch (thrown) {
    if (errorCode(thrown) === 'ENOENT') return undefined;
    throw thrown;
  }
}

/** Returns the uppermost mount at the directory; undefined if there is none. */
export async function mountAt(mounter: Pick<Mounter, 'list'>, dir: string): Promise<MountInfo | undefined> {
  const path = await tablePath(dir);
  if (path === undefined) return undefined;
  return (await mounter.list()).findLast(({ mountPoint }) => mountPoint === path);
}

/** Detaches the mounts at the directory at once, even if their server does not respond; open files stay
 *  usable. Does nothing when other mounts are inside.
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
