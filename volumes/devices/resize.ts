/** Expansion of a mounted file system to the size of its device. */
import { writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { DevicePaths } from '../contract/device-paths.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';
import type { Mounter } from '../mount/mounter.ts';
import type { RunProgram } from '../programs/contract.ts';
import { failText } from '../programs/errors.ts';
import { deviceSizeBytes, readHead } from './device-facts.ts';
import { readSuperblock } from './superblock.ts';

export interface GrowDeps {
  readonly run: RunProgram;
  readonly mounter: Mounter;
  readonly paths: Pick<DevicePaths, 'sys'>;
}

export interface Growing {
  readonly device: string;
  /** Any of its mount points. */
  readonly target: string;
}

const WORK_TIMEOUT_MS = 3_600_000;
/** Every file system leaves less than this unused at its end. */
const WORTH_BYTES = 64 * 1024;

interface GrowCommand {
  readonly program: string;
  readonly args: readonly string[];
}

/** Returns the command that expands the file system. Pure. Source: upstream's mount utilities
 *  (`ResizeFs`), release 1.24. */
function decideGrowth(fsType: string, { device, target }: Growing): GrowCommand | undefined {
  switch (fsType) {
    case 'ext2':
    case 'ext3':
    case 'ext4':
      return { program: 'resize2fs', args: [device] };
    case 'xfs':
      return { program: 'xfs_growfs', args: ['-d', target] };
    case 'btrfs':
      return { program: 'btrfs', args: ['filesystem', 'resize', 'max', target] };
    default:
      return undefined;
  }
}

/** Makes the kernel read the size of a SCSI disk again; other devices report changes themselves. Never
 *  rejects.
 *  @param sys `/sys` */
export async function rescanDevice(sys: string, device: string): Promise<void> {
  // Without permission, or for another kind of disk, the known size stays.
  await writeFile(join(sys, 'class/block', basename(device), 'device/rescan'), '1', { flag: 'r+' }).catch(
    () => undefined,
  );
}

/** Reports whether the device is larger than its file system, as far as the superblock shows. */
async function hasRoom(sys: string, device: string): Promise<boolean> {
  const sizeBytes = await deviceSizeBytes(sys, device);
  const superblock = readSuperblock(await readHead(device, sizeBytes));
  return superblock === undefined || sizeBytes - superblock.sizeBytes >= WORTH_BYTES;
}

/** Expands the file system at `target` if the device has become larger. Idempotent.
 *  @returns whether there was something to expand
 *  @throws VolumeSetupError, MissingProgramError, the system's error, the signal's reason */
export async function growFileSystem(
  { run, mounter, paths }: GrowDeps,
  growing: Growing,
  signal: AbortSignal,
): Promise<boolean> {
  const { device, target } = growing;
  const mounted = (await mounter.list()).findLast(({ mountPoint }) => mountPoint === target);
  if (mounted === undefined)
    throw new VolumeSetupError(`${target} is not mounted, so there is no file system to expand`);
  const command = decideGrowth(mounted.fsType, growing);
  if (command === undefined) {
    throw new VolumeSetupError(`cannot expand file system ${mounted.fsType} of ${device}: not supported`);
  }
  if (!(await hasRoom(paths.sys, device))) return false;
  if (mounted.superOptions.includes('ro') || mounted.options.includes('ro')) {
    throw new VolumeSetupError(`${device} is mounted read-only: cannot expand its file system`);
  }
  const { program, args } = command;
  const result = await run(program, args, { signal, timeoutMs: WORK_TIMEOUT_MS });
  if (result.code !== 0) {
    const why = failText(program, result);
    // Source: ext4's EXT4_IOC_RESIZE_FS.
    const hint = /Permission denied to resize/.test(why) ? ' (the agent lacks CAP_SYS_RESOURCE)' : '';
    throw new VolumeSetupError(`failed to expand the file system of ${device}: ${why}${hint}`);
  }
  return true;
}
