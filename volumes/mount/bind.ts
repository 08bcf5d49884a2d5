/** Bind mounts of staged volumes into a pod's directory. Reads only the mount table, because the original
 *  may belong to an unresponsive server or device. */
import { constants } from 'node:fs';
import { mkdir, open, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { unlessCode } from '#api/kit/errno.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';
import { type Held, holdPath, statHeld } from '../files/held-dir.ts';
import { CREATE_NEW } from '../files/ownership.ts';
import { O_PATH } from '../files/syscalls.ts';
import type { Mounter } from './mounter.ts';
import type { MountInfo } from './mountinfo.ts';
import { realpathOf } from './teardown.ts';

export interface PodBind {
  /** A path that only root can change. */
  readonly source: string;
  readonly target: string;
  readonly readOnly: boolean;
}

const topmost = (mounts: readonly MountInfo[], path: string): MountInfo | undefined =>
  mounts.findLast(({ mountPoint }) => mountPoint === path);

/** Creates the directory and bind-mounts the root of a mounted file system onto it. Idempotent.
 *  @throws VolumeSetupError when nothing is mounted at the source, or something else at the target */
export async function bindMount(mounter: Mounter, bind: PodBind): Promise<void> {
  const { source, target, readOnly } = bind;
  await mkdir(dirname(target), { recursive: true, mode: 0o750 });
  const [from, parent] = await Promise.all([realpathOf(dirname(source)), realpathOf(dirname(target))]);
  const sourcePath = `${from}${source.slice(dirname(source).length)}`;
  const targetPath = `${parent}${target.slice(dirname(target).length)}`;
  const mounts = await mounter.list();
  const original = topmost(mounts, sourcePath);
  if (original === undefined) throw new VolumeSetupError(`nothing is mounted at ${source}`);
  const found = topmost(mounts, targetPath);
  if (found !== undefined) {
    if (found.device !== original.device || found.root !== original.root)
      throw new VolumeSetupError(`${target} has ${found.source} mounted on it`);
    if (!readOnly || found.options.includes('ro')) return;
    await using stale = await holdPath(targetPath);
    await mounter.detach(stale);
  }
  await unlessCode(['EEXIST'], () => mkdir(targetPath, { mode: 0o750 }));
  await using held = await holdPath(sourcePath);
  await mounter.bind(held, targetPath, { readOnly });
}

/** Creates the file and binds the node of a block device onto it. Idempotent.
 *  @throws VolumeSetupError for anything but a block device, or when another is bound to the target */
export async function bindDevice(mounter: Mounter, device: string, target: string): Promise<void> {
  await using source: Held = await open(device, O_PATH);
  const { rdev, mode } = await statHeld(source);
  if ((mode & constants.S_IFMT) !== constants.S_IFBLK)
    throw new VolumeSetupError(`${device} is not a block device`);
  await mkdir(dirname(target), { recursive: true, mode: 0o750 });
  await unlessCode(['EEXIST'], async () => {
    await using file = await open(target, CREATE_NEW, 0o600);
    await file.sync();
  });
  const found = await stat(target);
  if (found.isBlockDevice()) {
    if (found.rdev === rdev) return;
    throw new VolumeSetupError(`${target} is bound to another device, not ${device}`);
  }
  await mounter.bind(source, target);
}
