/** Mounts of block devices on the node, after formatting empty devices and repairing damaged file systems.
 *  Never overwrites the content of a device: the decision is a separate pure function. */
import { asError, errorCode } from '#api/kit/errno.ts';
import type { DevicePaths } from '../contract/device-paths.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';
import { MS_RDONLY } from '../files/syscalls.ts';
import type { Mounter } from '../mount/mounter.ts';
import type { RunProgram } from '../programs/contract.ts';
import { failText, MissingProgramError } from '../programs/errors.ts';
import { findProgram } from '../programs/find-program.ts';
import { blockDeviceNumber } from './device-facts.ts';
import { parseMountOptions } from './mount-options.ts';
import { type DeviceContent, probeDevice } from './probe.ts';

export interface FormatAndMountDeps {
  readonly run: RunProgram;
  readonly mounter: Mounter;
  readonly paths: Pick<DevicePaths, 'sys'>;
}

/** Persistent marker of a formatting in progress, so that an interrupted one is restarted: the leftovers
 *  of an interrupted ext file system look like arbitrary data. */
export interface FormatProgress {
  /** This node found the device empty and started to format it. */
  readonly hasStarted: boolean;
  /** Persists the marker before formatting starts. */
  begin(): Promise<void>;
  end(): Promise<void>;
}

export interface DeviceMount {
  /** The device itself or a link to it; for a partition, the partition's device. */
  readonly device: string;
  /** An existing directory on a path that only root can change. */
  readonly target: string;
  /** Empty for `ext4`. */
  readonly fsType: string;
  readonly readOnly: boolean;
  readonly mountOptions: readonly string[];
  readonly progress?: FormatProgress;
}

const DEFAULT_FS_TYPE = 'ext4';

/** Repairing large disks takes long; this exceeds the timeout of the kernel and of an operator. */
const WORK_TIMEOUT_MS = 3_600_000;
const MOUNT_TIMEOUT_MS = 120_000;

export type FormatPlan =
  | { readonly kind: 'format'; readonly args: readonly string[] }
  | { readonly kind: 'check' }
  | { readonly kind: 'mount' }
  | { readonly kind: 'refuse'; readonly why: string };

/** Arguments of `mkfs.<fsType>` besides the device. Source: upstream's mount utilities, release 1.24. */
const MKFS_ARGS: Readonly<Record<string, readonly string[]>> = { ext3: ['-F', '-m0'], ext4: ['-F', '-m0'] };
/** Interrupting these tools loses nothing, so they continue when the agent exits. */
const QUIET: ReadonlySet<string> = new Set(['ext2', 'ext3', 'ext4', 'xfs', 'btrfs']);

/** The check programs of these do nothing: the kernel repairs them when it mounts them. */
const CHECKED_BY_KERNEL: ReadonlySet<string> = new Set(['xfs', 'btrfs']);

/** The kernel's ext4 also mounts its predecessors. */
const mountsAs = (found: string, wanted: string): boolean =>
  found === wanted || (wanted === 'ext4' && (found === 'ext2' || found === 'ext3'));

type Asked = Pick<DeviceMount, 'device' | 'fsType' | 'readOnly'>;

function planFormat({ device, fsType, readOnly }: Asked, isAgain: boolean): FormatPlan {
  if (readOnly) {
    const why = `${device} has no file system and cannot be formatted because the volume is read-only`;
    return { kind: 'refuse', why };
  }
  const quiet = QUIET.has(fsType) ? ['-q'] : [];
  const force = isAgain && CHECKED_BY_KERNEL.has(fsType) ? ['-f'] : [];
  return { kind: 'format', args: [...quiet, ...(MKFS_ARGS[fsType] ?? []), ...force] };
}

const occupied = (device: string, what: string): FormatPlan => ({
  kind: 'refuse',
  why: `${device} has no file system, but ${what} on it: refusing to format it. If the data is not needed, write zeros over both ends of the device`,
});

/** Returns the steps required before a device with this content can be mounted. Pure.
 *  @param hasBegun this node found the device empty earlier, and started to format it */
export function decideFormat(content: DeviceContent, asked: Asked, hasStarted: boolean): FormatPlan {
  const { device, fsType, readOnly } = asked;
  switch (content.kind) {
    case 'empty':
      return planFormat(asked, false);
    case 'unfinished':
      return planFormat(asked, true);
    case 'unknown':
      return hasStarted ? planFormat(asked, true) : occupied(device, 'unrecognized data');
    case 'fileSystem':
      if (!mountsAs(content.fsType, fsType)) {
        const why = `${device} has the file system ${content.fsType}, but ${fsType} is requested`;
        return { kind: 'refuse', why };
      }
      return { kind: readOnly || CHECKED_BY_KERNEL.has(content.fsType) ? 'mount' : 'check' };
    case 'other':
      return occupied(device, content.what);
    default:
      return content satisfies never;
  }
}

/** Reports whether the device is already mounted at exactly this place.
 *  @throws VolumeSetupError if something else is mounted there */
async function isMounted({ mounter }: FormatAndMountDeps, { device, target }: DeviceMount): Promise<boolean> {
  const mounted = (await mounter.list()).findLast(({ mountPoint }) => mountPoint === target);
  if (mounted === undefined) return false;
  const wanted = await blockDeviceNumber(device);
  if (mounted.device === wanted) return true;
  // A btrfs has its own device number in the mount table.
  const source = await blockDeviceNumber(mounted.source).catch(() => undefined);
  if (source === wanted) return true;
  throw new VolumeSetupError(`${target} has ${mounted.source} mounted on it instead of ${device}`);
}

/** Runs to completion even if the pod is deleted: a half-formatted device could not be used. */
async function format(
  { run }: FormatAndMountDeps,
  { device, fsType, progress }: DeviceMount,
  args: readonly string[],
): Promise<void> {
  const program = `mkfs.${fsType}`;
  const { signal } = new AbortController();
  await progress?.begin();
  const result = await run(program, [...args, device], { signal, timeoutMs: WORK_TIMEOUT_MS });
  if (result.code !== 0) {
    throw new VolumeSetupError(`failed to format ${device}: ${failText(program, result)}`);
  }
  await progress?.end();
}

/** Bits of fsck's exit code. Source: fsck(8). */
const UNCORRECTED = 4;

/** Other failures of the check are ignored: the mount will fail if they matter. Source: upstream's mount
 *  utilities. */
async function check(
  { run }: FormatAndMountDeps,
  { device }: DeviceMount,
  signal: AbortSignal,
): Promise<void> {
  try {
    const result = await run('fsck', ['-a', device], { signal, timeoutMs: WORK_TIMEOUT_MS });
    if ((result.code & UNCORRECTED) === 0) return;
    throw new VolumeSetupError(`${device} has errors that need manual repair: ${failText('fsck', result)}`);
  } catch (thrown) {
    if (!(thrown instanceof MissingProgramError)) throw thrown;
  }
}

/** Hints by error code. */
const HINTS: Readonly<Record<string, string>> = {
  EINVAL: 'unknown mount option or damaged file system',
  EUCLEAN: 'the file system is damaged',
  EBUSY: 'the device is in use',
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
    // A write-protected device is mounted read-only, as mount(8) does.
    if ((code === 'EROFS' || code === 'EACCES') && (flags & MS_RDONLY) === 0) return attempt(MS_RDONLY);
    if (code === 'ENODEV' && (await mountByHelper(deps, mount, signal))) return;
    const hint = HINTS[code];
    const why = hint === undefined ? asError(thrown).message : `${code} (${hint})`;
    throw new VolumeSetupError(`failed to mount ${device} as ${fsType}: ${why}`, { cause: thrown });
  }
}

/** For file systems with a mount program. @returns false if there is no such program */
async function mountByHelper(
  { run }: FormatAndMountDeps,
  { device, target, fsType, readOnly, mountOptions }: DeviceMount,
  signal: AbortSignal,
): Promise<boolean> {
  const program = `mount.${fsType}`;
  if ((await findProgram(program)) === undefined) return false;
  const options = [...mountOptions, readOnly ? 'ro' : 'rw'].join(',');
  const timeoutMs = MOUNT_TIMEOUT_MS;
  const result = await run(program, [device, target, '-o', options], { signal, timeoutMs });
  if (result.code === 0) return true;
  throw new VolumeSetupError(`failed to mount ${device}: ${failText(program, result)}`);
}

/** Formats, checks and mounts the device as needed. Idempotent.
 *  @throws VolumeSetupError, MissingProgramError, ProgramTimeoutError, the system's error, the signal's
 *    reason */
export async function formatAndMount(
  deps: FormatAndMountDeps,
  wanted: DeviceMount,
  signal: AbortSignal,
): Promise<void> {
  // Validate options before touching the device.
  const { flags } = parseMountOptions(wanted.mountOptions);
  const mount = {
    ...wanted,
    fsType: wanted.fsType === '' ? DEFAULT_FS_TYPE : wanted.fsType,
    readOnly: wanted.readOnly || (flags & MS_RDONLY) !== 0,
  };
  if (!/^[a-z0-9][a-z0-9._-]{0,30}$/i.test(mount.fsType)) {
    throw new VolumeSetupError(
      `fsType ${JSON.stringify(mount.fsType.slice(0, 40))} is not a file system name`,
    );
  }
  if (await isMounted(deps, mount)) return;
  const content = await probeDevice(deps, mount.device, signal);
  const plan = decideFormat(content, mount, mount.progress?.hasStarted === true);
  if (plan.kind === 'refuse') throw new VolumeSetupError(plan.why);
  // Formatting finished, but the marker was not removed: from now on there is data on the device.
  if (plan.kind !== 'format' && mount.progress?.hasStarted === true) await mount.progress.end();
  if (plan.kind === 'format') await format(deps, mount, plan.args);
  if (plan.kind === 'check') await check(deps, mount, signal);
  await mountDevice(deps, mount, signal);
}
