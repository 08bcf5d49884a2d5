/** Pipeline common to all block device sources: the device is attached and, unless used raw, mounted once
 *  per node; each pod gets a bind mount. Loaded with the first such volume. */
import { constants } from 'node:fs';
import { mkdir, open } from 'node:fs/promises';
import { errorCode, unlessCode } from '#api/kit/errno.ts';
import type { DevicePlugin, DeviceServices, DeviceVolume } from '../contract/devices.ts';
import type { ExpandRequest } from '../contract/expansion.ts';
import type { ReadyVolume, SourceFields, SourceRequest, UndoServices } from '../contract/source.ts';
import type { StageFolder, StageRecord, UndoState } from '../contract/staging.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';
import { setOwnership } from '../files/ownership.ts';
import { bindDevice, bindMount } from '../mount/bind.ts';
import { type FormatProgress, formatAndMount } from './format-and-mount.ts';
import { waitForPartition } from './partition.ts';
import { growFileSystem, rescanDevice } from './resize.ts';
import { createDeviceWaiter } from './wait-for-device.ts';

/** Prefix of this file's keys in the state, which otherwise belongs to the source. */
const OWN = '@';
const MODE = '@mode';
const DEVICE = '@device';
const FORMATTING = '@formatting';
/** The source has saved state: there may be something to detach. */
const STARTED = '@begun';

type Mode = 'raw' | 'mounted';

/** Returns the state saved by the source itself. */
const sourceState = (state: UndoState): UndoState =>
  Object.fromEntries(Object.entries(state).filter(([key]) => !key.startsWith(OWN)));

const ownState = (state: UndoState): UndoState =>
  Object.fromEntries(Object.entries(state).filter(([key]) => key.startsWith(OWN)));

function deviceServices(request: SourceRequest): DeviceServices {
  const { run, devices, objects, clock } = request.services;
  const { namespace, persistentVolume } = request;
  const waitForDevice = createDeviceWaiter({ clock, paths: devices });
  return { run, paths: devices, objects, namespace, persistentVolume, waitForDevice };
}

/** A device that pods write to directly is not mounted at the same time. */
function checkMode(saved: UndoState, mode: Mode): void {
  const { [MODE]: before = mode } = saved;
  if (before === mode) return;
  const other = before === 'raw' ? 'as a raw device' : 'with its file system';
  throw new VolumeSetupError(`another pod of this node uses the volume ${other}`);
}

export interface DeviceWork<K extends keyof SourceFields> {
  readonly plugin: DevicePlugin<K>;
  readonly spec: NonNullable<SourceFields[K]>;
  readonly volume: DeviceVolume;
  readonly request: SourceRequest;
  /** The device path of the attachment. */
  readonly attachedAs?: string | undefined;
}

async function bringDevice<K extends keyof SourceFields>(
  { plugin, spec, volume, request, attachedAs }: DeviceWork<K>,
  folder: StageFolder,
  signal: AbortSignal,
): Promise<string> {
  const mode: Mode = request.block ? 'raw' : 'mounted';
  checkMode(folder.saved, mode);
  if (folder.saved[MODE] !== mode) await folder.save({ ...folder.saved, [MODE]: mode });
  const services = { ...deviceServices(request), attachedAs, saved: sourceState(folder.saved) };
  const save = (state: UndoState): Promise<void> =>
    folder.save({ ...sourceState(state), ...ownState(folder.saved), [STARTED]: 'yes' });
  const disk = await plugin.attach(spec, services, save, signal);
  const { clock, devices } = request.services;
  const device = await waitForPartition({ clock, paths: devices }, disk, volume.partition, signal);
  if (folder.saved[DEVICE] !== device) await folder.save({ ...folder.saved, [DEVICE]: device });
  return device;
}

async function stage<K extends keyof SourceFields>(
  work: DeviceWork<K>,
  folder: StageFolder,
  signal: AbortSignal,
): Promise<void> {
  const { volume, request } = work;
  const device = await bringDevice(work, folder, signal);
  if (request.block) return;
  await unlessCode(['EEXIST'], () => mkdir(folder.globalMount, { mode: 0o750 }));
  const { mounter, run, devices } = request.services;
  const { fsType, readOnly } = volume;
  const { mountOptions } = request;
  const progress = formatProgress(folder, device);
  const mount = { device, target: folder.globalMount, fsType, readOnly, mountOptions, progress };
  await formatAndMount({ mounter, run, paths: devices }, mount, signal);
}

/** Marks in the volume's record that this device is being formatted. */
function formatProgress(folder: StageFolder, device: string): FormatProgress {
  return {
    hasStarted: folder.saved[FORMATTING] === device,
    begin: () => folder.save({ ...folder.saved, [FORMATTING]: device }),
    async end() {
      const { [FORMATTING]: _, ...state } = folder.saved;
      await folder.save(state);
    },
  };
}

/** The device was expanded on the storage side; its file system follows. */
async function expandDevice(
  request: SourceRequest,
  folder: StageFolder,
  { signal }: ExpandRequest,
): Promise<void> {
  const { mounter, run, devices } = request.services;
  const device = folder.saved[DEVICE] ?? '';
  await rescanDevice(devices.sys, device);
  await growFileSystem({ mounter, run, paths: devices }, { device, target: folder.globalMount }, signal);
}

/** Sets up a volume of such a source for its pod.
 *  @throws VolumeSetupError, SyscallError, or the source's error */
export async function setUpDevice<K extends keyof SourceFields>(work: DeviceWork<K>): Promise<ReadyVolume> {
  const { plugin, volume, request } = work;
  const { mounter } = request.services;
  const target = request.dir(plugin.dirName);
  const folder = await request.stage({
    uniqueName: volume.uniqueName,
    stage: (entered, signal) => stage(work, entered, signal),
  });
  const readOnly = volume.readOnly || request.readOnly;
  if (request.block) {
    await bindDevice(mounter, folder.saved[DEVICE] ?? '', target);
    // A raw device is expanded on the storage side only.
    const expand = (): Promise<void> => Promise.resolve();
    return { hostPath: target, readOnly, seLinuxRelabel: false, changes: false, expand };
  }
  if (request.fsGroup !== undefined && !readOnly) {
    const ownership = { gid: request.fsGroup, readOnly, onRootMismatch: request.fsGroupOnRootMismatch };
    await setOwnership(mounter.syscalls, folder.globalMount, ownership, request.signal);
  }
  await bindMount(mounter, { source: folder.globalMount, target, readOnly });
  const expand = (wanted: ExpandRequest): Promise<void> => expandDevice(request, folder, wanted);
  return { hostPath: target, readOnly, seLinuxRelabel: true, changes: false, expand };
}

/** Checks that the device is not mounted anywhere: the kernel grants exclusive access to one owner only.
 *  @throws VolumeSetupError if it is in use */
async function checkUnused(device: string): Promise<void> {
  try {
    const owned = await open(device, constants.O_RDONLY | constants.O_EXCL);
    await owned.close();
  } catch (thrown) {
    if (errorCode(thrown) === 'EBUSY')
      throw new VolumeSetupError(`cannot detach ${device}: still in use`, { cause: thrown });
    if (!['ENOENT', 'ENXIO', 'ENODEV', 'ENOMEDIUM', 'EIO'].includes(errorCode(thrown) ?? '')) throw thrown;
  }
}

/** Detaches a volume that no pod uses any more. @throws VolumeSetupError */
export async function unstageDevice<K extends keyof SourceFields>(
  plugin: DevicePlugin<K>,
  { state }: StageRecord,
  { run, devices, objects }: UndoServices,
  signal: AbortSignal,
): Promise<void> {
  const { [DEVICE]: device, [STARTED]: started } = state;
  if (device !== undefined) await checkUnused(device);
  const services = { run, paths: devices, ...(objects === undefined ? {} : { objects }) };
  if (started !== undefined) await plugin.detach?.(sourceState(state), services, signal);
}
