/** Mounts a block device for the node, after it made a file system on an empty one and repaired a damaged one.
 *  What is on a device is never overwritten: the decision is pure and stands apart. */
import { asError } from '#api/kit/clock.ts';
import type { Mounter } from '../mounter.ts';
import type { RunProgram } from '../programs/contract.ts';
import { failText, MissingProgramError } from '../programs/errors.ts';
import { findProgram } from '../programs/find-program.ts';
import { errorCode, VolumeSetupError } from '../setup-error.ts';
import { MS_RDONLY } from '../syscalls.ts';
import type { DevicePaths } from './contract.ts';
import { blockDeviceNumber } from './device-facts.ts';
import { parseMountOptions } from './mount-options.ts';
import { type DeviceContent, probeDevice } from './probe.ts';

export interface FormatAndMountDeps {
  readonly run: RunProgram;
  readonly mounter: Mounter;
  readonly paths: Pick<DevicePaths, 'sys'>;
}

/** What is kept on disk of a formatting, so that one that was interrupted is begun again: what it leaves of an ext file
 *  system looks like anybody's data. */
export interface FormatProgress {
  /** This node found the device empty, and began. */
  readonly hasBegun: boolean;
  /** To be kept before it begins. */
  begin(): Promise<void>;
  end(): Promise<void>;
}

export interface DeviceMount {
  /** The device itself or a link to it, with the partition already chosen. */
  readonly device: string;
  /** An existing directory on a path that only root can steer. */
  readonly target: string;
  /** Empty for `ext4`. */
  readonly fsType: string;
  readonly readOnly: boolean;
  readonly mountOptions: readonly string[];
  readonly progress?: FormatProgress;
}

export const DEFAULT_FS_TYPE = 'ext4';

/** Large disks with much to repair take their time; the kernel's or a person's patience ends later than this. */
const LONGEST_WORK_MS = 3_600_000;
const LONGEST_MOUNT_MS = 120_000;

export type FormatPlan =
  | { readonly kind: 'format'; readonly args: readonly string[] }
  | { readonly kind: 'check' }
  | { readonly kind: 'mount' }
  | { readonly kind: 'refuse'; readonly why: string };

/** Arguments of `mkfs.<fsType>` besides the device. Source: upstream's mount utilities, release 1.24. */
const MKFS_ARGS: Readonly<Record<string, readonly string[]>> = { ext3: ['-F', '-m0'], ext4: ['-F', '-m0'] };
/** These write nothing that is missed, and so live on when the agent ends. */
const QUIET: ReadonlySet<string> = new Set(['ext2', 'ext3', 'ext4', 'xfs', 'btrfs']);

/** The programs that check these do nothing: the kernel repairs them as it mounts them. */
const CHECKED_BY_KERNEL: ReadonlySet<string> = new Set(['xfs', 'btrfs']);

/** The kernel's ext4 also mounts what came before it. */
const mountsAs = (found: string, wanted: string): boolean =>
  found === wanted || (wanted === 'ext4' && (found === 'ext2' || found === 'ext3'));

type Asked = Pick<DeviceMount, 'device' | 'fsType' | 'readOnly'>;

function planFormat({ device, fsType, readOnly }: Asked, isAgain: boolean): FormatPlan {
  if (readOnly) {
    const why = `${device} has no file system yet, and can't be given one because it is asked for read-only`;
    return { kind: 'refuse', why };
  }
  const quiet = QUIET.has(fsType) ? ['-q'] : [];
  const force = isAgain && CHECKED_BY_KERNEL.has(fsType) ? ['-f'] : [];
  return { kind: 'format', args: [...quiet, ...(MKFS_ARGS[fsType] ?? []), ...force] };
}

const occupied = (device: string, what: string): FormatPlan => ({
  kind: 'refuse',
  why: `${device} has no file system, but ${what} on it: it is not formatted. If nobody needs that, write zeros over both ends of the device`,
});

/** What is to be done before a device with this content can be mounted. Pure.
 *  @param hasBegun this node found the device empty earlier, and began to format it */
export function decideFormat(content: DeviceContent, asked: Asked, hasBegun: boolean): FormatPlan {
  const { device, fsType, readOnly } = asked;
  switch (content.kind) {
    case 'empty':
      return planFormat(asked, false);
    case 'unfinished':
      return planFormat(asked, true);
    case 'unknown':
      return hasBegun ? planFormat(asked, true) : occupied(device, 'data that nobody recognizes');
    case 'fileSystem':
      if (!mountsAs(content.fsType, fsType)) {
        const why = `${device} has the file system ${content.fsType}, but ${fsType} is asked for`;
        return { kind: 'refuse', why };
      }
      return { kind: readOnly || CHECKED_BY_KERNEL.has(content.fsType) ? 'mount' : 'check' };
    case 'other':
      return occupied(device, content.what);
    default:
      return content satisfies never;
  }
}

/** Whether the device is mounted at exactly this place already.
 *  @throws VolumeSetupError where something else is */
async function isMounted({ mounter }: FormatAndMountDeps, { device, target }: DeviceMount): Promise<boolean> {
  const mounted = (await mounter.list()).findLast(({ mountPoint }) => mountPoint === target);
  if (mounted === undefined) return false;
  const wanted = await blockDeviceNumber(device);
  if (mounted.device === wanted) return true;
  // A btrfs has a number of its own in the mount table.
  const source = await blockDeviceNumber(mounted.source).catch(() => undefined);
  if (source === wanted) return true;
  throw new VolumeSetupError(`${target} has ${mounted.source} mounted on it instead of ${device}`);
}

/** Goes to its end, whatever becomes of the pod: half of it would be in everybody's way. */
async function format(
  { run }: FormatAndMountDeps,
  { device, fsType, progress }: DeviceMount,
  args: readonly string[],
): Promise<void> {
  const program = `mkfs.${fsType}`;
  const { signal } = new AbortController();
  await progress?.begin();
  const result = await run(program, [...args, device], { signal, timeoutMs: LONGEST_WORK_MS });
  if (result.code !== 0) {
    throw new VolumeSetupError(`${device} could not be formatted: ${failText(program, result)}`);
  }
  await progress?.end();
}

/** Exit code of fsck: a sum of these. Source: fsck(8). */
const UNCORRECTED = 4;

/** Other failures of the check itself don't count: the mount will tell. Source: upstream's mount utilities. */
async function check(
  { run }: FormatAndMountDeps,
  { device }: DeviceMount,
  signal: AbortSignal,
): Promise<void> {
  try {
    const result = await run('fsck', ['-a', device], { signal, timeoutMs: LONGEST_WORK_MS });
    if ((result.code & UNCORRECTED) === 0) return;
    throw new VolumeSetupError(
      `${device} has errors that could not be repaired without a decision: ${failText('fsck', result)}`,
    );
  } catch (thrown) {
    if (!(thrown instanceof MissingProgramError)) throw thrown;
  }
}

/** What to look at, by the error's name. */
const HINTS: Readonly<Record<string, string>> = {
  EINVAL: 'a mount option that it does not know, or a damaged file system',
  EUCLEAN: 'the file system is damaged',
  EBUSY: 'somebody else has the device',
  ENODEV: 'the kernel of this node does not know this file system',
};

async function mountDevice(deps: FormatAndMountDeps, mount: DeviceMount, signal: AbortSignal): Promise<void> {
  const { device, target, fsType, readOnly, mountOptions } = mount;
  const { flags, data } = parseMountOptions([...mountOptions, ...(readOnly ? ['ro'] : [])]);
  const { syscalls } = deps.mounter;
  const attempt = (more: number): Promise<void> =>
    syscalls.mount({ source: device, target, fsType, flags: flags | more, data });
  try {
    await attempt(0);
  } catch (thrown) {
    const code = errorCode(thrown) ?? '';
    // A device that can't be written is mounted for reading, as mount(8) does it.
    if ((code === 'EROFS' || code === 'EACCES') && (flags & MS_RDONLY) === 0) return attempt(MS_RDONLY);
    if (code === 'ENODEV' && (await mountByHelper(deps, mount, signal))) return;
    const hint = HINTS[code];
    const why = hint === undefined ? asError(thrown).message : `${code} (${hint})`;
    throw new VolumeSetupError(`${device} could not be mounted as ${fsType}: ${why}`, { cause: thrown });
  }
}

/** For file systems that a program brings. @returns false where there is none */
async function mountByHelper(
  { run }: FormatAndMountDeps,
  { device, target, fsType, readOnly, mountOptions }: DeviceMount,
  signal: AbortSignal,
): Promise<boolean> {
  const program = `mount.${fsType}`;
  if ((await findProgram(program)) === undefined) return false;
  const options = [...mountOptions, readOnly ? 'ro' : 'rw'].join(',');
  const timeoutMs = LONGEST_MOUNT_MS;
  const result = await run(program, [device, target, '-o', options], { signal, timeoutMs });
  if (result.code === 0) return true;
  throw new VolumeSetupError(`${device} could not be mounted: ${failText(program, result)}`);
}

/** Repeats harmlessly: what is mounted already stays as it is.
 *  @throws VolumeSetupError, MissingProgramError, ProgramTimeoutError, the system's error, the signal's reason */
export async function formatAndMount(
  deps: FormatAndMountDeps,
  wanted: DeviceMount,
  signal: AbortSignal,
): Promise<void> {
  // Options are looked at before anything is done to the device.
  const { flags } = parseMountOptions(wanted.mountOptions);
  const mount = {
    ...wanted,
    fsType: wanted.fsType === '' ? DEFAULT_FS_TYPE : wanted.fsType,
    readOnly: wanted.readOnly || (flags & MS_RDONLY) !== 0,
  };
  if (!/^[a-z0-9][a-z0-9._-]{0,30}$/i.test(mount.fsType)) {
    throw new VolumeSetupError(
      `fsType ${JSON.stringify(mount.fsType.slice(0, 40))} is no name of a file system`,
    );
  }
  if (await isMounted(deps, mount)) return;
  const content = await probeDevice(deps, mount.device, signal);
  const plan = decideFormat(content, mount, mount.progress?.hasBegun === true);
  if (plan.kind === 'refuse') throw new VolumeSetupError(plan.why);
  // It came to its end and only that was not kept: from now on there is data on it.
  if (plan.kind !== 'format' && mount.progress?.hasBegun === true) await mount.progress.end();
  if (plan.kind === 'format') await format(deps, mount, plan.args);
  if (plan.kind === 'check') await check(deps, mount, signal);
  await mountDevice(deps, mount, signal);
}
