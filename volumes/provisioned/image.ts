/** Size-limited file systems of local volumes: sparse ext4 images, mounted through loop devices. An image stays
 *  mounted until its volume is removed or the machine restarts. */
import { constants } from 'node:fs';
import { open, rm, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { hasCode } from '#api/kit/errno.ts';
import type { DevicePaths } from '../contract/device-paths.ts';
import { formatAndMount } from '../devices/format-and-mount.ts';
import { attachLoop, detachLoop, findLoops } from '../devices/loop.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';
import { MNT_DETACH, UMOUNT_NOFOLLOW } from '../files/syscalls.ts';
import type { Mounter } from '../mount/mounter.ts';
import type { RunProgram } from '../programs/contract.ts';

export interface ImageDeps {
  readonly run: RunProgram;
  readonly mounter: Mounter;
  readonly paths: DevicePaths;
}

const IMAGE = 'disk.img';
const MARKER = 'formatting';
const MIB = 1024 * 1024;
/** An ext4 with a journal has room for little else below this size. */
const SMALLEST_BYTES = 16 * MIB;

/** Returns the size of the image for a requested size: whole MiB, and never too small for the file system. */
export const imageBytes = (requested: number): number =>
  Math.max(SMALLEST_BYTES, Math.ceil(requested / MIB) * MIB);

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    (thrown: unknown) => {
      if (hasCode(thrown, 'ENOENT')) return false;
      throw thrown;
    },
  );

/** Creates the sparse image, which needs no space yet.
 *  @throws VolumeSetupError if the disk could never hold its content */
export async function createImage(dir: string, sizeBytes: number): Promise<void> {
  const { blocks, bsize } = await statfs(dir);
  if (sizeBytes > blocks * bsize) {
    throw new VolumeSetupError(
      `a volume of ${sizeBytes} bytes was requested, but the disk of ${dir} has ${blocks * bsize}`,
    );
  }
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_NOFOLLOW;
  await using file = await open(join(dir, IMAGE), flags, 0o600);
  await file.truncate(sizeBytes);
  await file.sync();
}

/** Mounts the image at `target`, and formats it before if it is empty. Idempotent.
 *  @throws VolumeSetupError, MissingProgramError, the system's error, the signal's reason */
export async function mountImage(
  { run, mounter, paths }: ImageDeps,
  dir: string,
  target: string,
  signal: AbortSignal,
): Promise<void> {
  const mounts = await mounter.list();
  if (mounts.some(({ mountPoint }) => mountPoint === target)) return;
  const marker = join(dir, MARKER);
  const device = await attachLoop({ run, paths }, join(dir, IMAGE), {}, signal);
  const progress = {
    hasStarted: await exists(marker),
    begin: async () => {
      await using file = await open(marker, 'w', 0o600);
      await file.sync();
    },
    end: () => rm(marker, { force: true }),
  };
  const mount = { device, target, fsType: 'ext4', readOnly: false, mountOptions: [], progress };
  await formatAndMount({ run, mounter, paths }, mount, signal);
}

/** Unmounts the image and releases its loop device. Idempotent. */
export async function unmountImage(
  { run, mounter, paths }: ImageDeps,
  dir: string,
  target: string,
  signal: AbortSignal,
): Promise<void> {
  for (const { mountPoint } of await mounter.list()) {
    if (mountPoint === target) await mounter.syscalls.unmount(target, MNT_DETACH | UMOUNT_NOFOLLOW);
  }
  const image = join(dir, IMAGE);
  if (!(await exists(image))) return;
  for (const device of await findLoops(paths, image)) await detachLoop({ run }, device, signal);
}
