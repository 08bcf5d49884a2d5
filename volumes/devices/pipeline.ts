/** What is the same for all block device sources: the device is attached and, unless it is used raw, mounted once for
 *  the node; each pod gets a bind of it. Loaded with the first such volume. */
import { constants } from 'node:fs';
import { mkdir, open } from 'node:fs/promises';
import { bindDevice, bindMount } from '../bind.ts';
import type { ExpandRequest } from '../expansion/contract.ts';
import { setOwnership } from '../ownership.ts';
import { errorCode, unlessCode, VolumeSetupError } from '../setup-error.ts';
import type { ReadyVolume, SourceFields, SourceRequest, UndoServices } from '../sources/source.ts';
import type { StageFolder, StageRecord, UndoState } from '../staging/contract.ts';
import type { DevicePlugin, DeviceServices, DeviceVolume } from './contract.ts';
import { type FormatProgress, formatAndMount } from './format-and-mount.ts';
import { waitForPartition } from './partition.ts';
import { growFileSystem, rescanDevice } from './resize.ts';
import { createDeviceWaiter } from './wait-for-device.ts';

/** Keys of this file in a state that is the source's otherwise. */
const OWN = '@';
const MODE = '@mode';
const DEVICE = '@device';
const FORMATTING = '@formatting';
/** The source saved something: there may be something to detach. */
const BEGUN = '@begun';

type Mode = 'raw' | 'mounted';

/** What the source itself saved. */
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
  /** The device as whoever attached it tells. */
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
    folder.save({ ...sourceState(state), ...ownState(folder.saved), [BEGUN]: 'yes' });
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

/** That this device is being formatted stands in the record of the volume. */
function formatProgress(folder: StageFolder, device: string): FormatProgress {
  return {
    hasBegun: folder.saved[FORMATTING] === device,
    begin: () => folder.save({ ...folder.saved, [FORMATTING]: device }),
    async end() {
      const { [FORMATTING]: _, ...state } = folder.saved;
      await folder.save(state);
    },
  };
}

/** The device is as large as whoever serves it says; its file system follows. */
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

/** Makes a volume of such a source ready for its pod.
 *  @throws VolumeSetupError, SyscallError, or what the source throws */
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
    // What grows is the device itself, by others.
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

/** The kernel lends a device to one owner alone: nobody who has it mounted, wherever.
 *  @throws VolumeSetupError when somebody does */
async function checkUnused(device: string): Promise<void> {
  try {
    const owned = await open(device, constants.O_RDONLY | constants.O_EXCL);
    await owned.close();
  } catch (thrown) {
    if (errorCode(thrown) === 'EBUSY')
      throw new VolumeSetupError(`${device} is still in use, so it is not detached`, { cause: thrown });
    if (!['ENOENT', 'ENXIO', 'ENODEV', 'ENOMEDIUM', 'EIO'].includes(errorCode(thrown) ?? '')) throw thrown;
  }
}

/** Detaches what no pod has any longer. @throws VolumeSetupError */
export async function unstageDevice<K extends keyof SourceFields>(
  plugin: DevicePlugin<K>,
  { state }: StageRecord,
  { run, devices, objects }: UndoServices,
  signal: AbortSignal,
): Promise<void> {
  const { [DEVICE]: device, [BEGUN]: begun } = state;
  if (device !== undefined) await checkUnused(device);
  const services = { run, paths: devices, ...(objects === undefined ? {} : { objects }) };
  if (begun !== undefined) await plugin.detach?.(sourceState(state), services, signal);
}
