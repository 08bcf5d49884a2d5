/** Makes a mounted file system as large as its device. */
import { writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Mounter } from '../mounter.ts';
import type { RunProgram } from '../programs/contract.ts';
import { failText } from '../programs/errors.ts';
import { VolumeSetupError } from '../setup-error.ts';
import type { DevicePaths } from './contract.ts';
import { deviceSizeBytes, readHead } from './device-facts.ts';
import { readSuperblock } from './superblock.ts';

export interface GrowDeps {
  readonly run: RunProgram;
  readonly mounter: Mounter;
  readonly paths: Pick<DevicePaths, 'sys'>;
}

export interface Growing {
  readonly device: string;
  /** Where it is mounted; any of its mounts does. */
  readonly target: string;
}

const LONGEST_WORK_MS = 3_600_000;
/** Less than this is left over by every file system at its end. */
const WORTH_BYTES = 64 * 1024;

interface GrowCommand {
  readonly program: string;
  readonly args: readonly string[];
}

/** Pure. Source: upstream's mount utilities (`ResizeFs`), release 1.24. */
export function decideGrowth(fsType: string, { device, target }: Growing): GrowCommand | undefined {
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

/** Lets the kernel ask a SCSI disk anew how large it is; others tell by themselves. Never rejects.
 *  @param sys `/sys` */
export async function rescanDevice(sys: string, device: string): Promise<void> {
  // Without permission, or for a disk of another kind, it stays as it is known.
  await writeFile(join(sys, 'class/block', basename(device), 'device/rescan'), '1', { flag: 'r+' }).catch(
    () => undefined,
  );
}

/** Whether the device has room that its file system does not use, as far as the device itself tells. */
async function hasRoom(sys: string, device: string): Promise<boolean> {
  const sizeBytes = await deviceSizeBytes(sys, device);
  const superblock = readSuperblock(await readHead(device, sizeBytes));
  return superblock === undefined || sizeBytes - superblock.sizeBytes >= WORTH_BYTES;
}

/** Grows the file system at `target`, where the device has become larger. Repeats harmlessly.
 *  @returns whether there was something to grow
 *  @throws VolumeSetupError, MissingProgramError, the system's error, the signal's reason */
export async function growFileSystem(
  { run, mounter, paths }: GrowDeps,
  growing: Growing,
  signal: AbortSignal,
): Promise<boolean> {
  const { device, target } = growing;
  const mounted = (await mounter.list()).findLast(({ mountPoint }) => mountPoint === target);
  if (mounted === undefined) throw new VolumeSetupError(`${target} is not mounted: nothing to make larger`);
  const command = decideGrowth(mounted.fsType, growing);
  if (command === undefined) {
    throw new VolumeSetupError(`the file system ${mounted.fsType} of ${device} can't be made larger`);
  }
  if (!(await hasRoom(paths.sys, device))) return false;
  if (mounted.superOptions.includes('ro') || mounted.options.includes('ro')) {
    throw new VolumeSetupError(`${device} is mounted read-only: its file system can't be made larger`);
  }
  const { program, args } = command;
  const result = await run(program, args, { signal, timeoutMs: LONGEST_WORK_MS });
  if (result.code !== 0) {
    const why = failText(program, result);
    // Source: ext4's EXT4_IOC_RESIZE_FS.
    const hint = /Permission denied to resize/.test(why) ? ' (the agent lacks CAP_SYS_RESOURCE)' : '';
    throw new VolumeSetupError(`the file system of ${device} could not be made larger: ${why}${hint}`);
  }
  return true;
}
