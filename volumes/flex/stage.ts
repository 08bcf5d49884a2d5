/** Node-wide part of a flex volume: attachment and device mount, by drivers that declare `attach`. The
 *  agent does the parts that a driver does not implement. */

import { mkdir } from 'node:fs/promises';
import type { FlexDriver, FlexDrivers, FlexResponse } from '../contract/flex.ts';
import type { UndoServices } from '../contract/source.ts';
import type { StageFolder, UndoState } from '../contract/staging.ts';
import { isMountPoint } from './mount-point.ts';
import { FlexFailureError, FlexNotSupportedError } from './protocol.ts';

/** For `waitforattach`. Source: upstream's `waitForAttachTimeout`. */
const WAIT_FOR_ATTACH_MS = 600_000;

export interface FlexStage {
  readonly driver: FlexDriver;
  readonly drivers: FlexDrivers;
  /** The driver's name of the volume. */
  readonly volumeName: string;
  /** The volume as JSON, without pod data. */
  readonly options: string;
  readonly services: UndoServices;
  /** Mounts a device for a driver that attaches but does not mount. */
  readonly mountDevice: (device: string, target: string, signal: AbortSignal) => Promise<void>;
}

/** Returns the response, or undefined if the driver does not implement the call. */
export async function unlessNotSupported<T>(response: Promise<T>): Promise<T | undefined> {
  try {
    return await response;
  } catch (thrown) {
    if (thrown instanceof FlexNotSupportedError) return undefined;
    throw thrown;
  }
}

const stateOf = ({ driver, volumeName, options }: FlexStage): UndoState => ({
  driver: driver.name,
  volumeName,
  options,
});

async function isAttached(
  { driver, drivers, options }: Pick<FlexStage, 'driver' | 'drivers' | 'options'>,
  signal: AbortSignal,
): Promise<boolean | undefined> {
  const response = await unlessNotSupported(
    driver.call('isattached', [options, drivers.nodeName], { signal }),
  );
  return response?.attached;
}

/** @returns the device as the driver names it; empty if it does not attach */
async function attach(stage: FlexStage, folder: StageFolder, signal: AbortSignal): Promise<string> {
  const { attached: before = 'no', device: known = '' } = folder.saved;
  if (before === 'yes') {
    // Without an `isattached` call, a mounted volume counts as attached.
    const isMounted = await isMountPoint(stage.services.mounter, folder.globalMount);
    if ((await isAttached(stage, signal)) ?? isMounted) return known;
  }
  await folder.save({ ...stateOf(stage), attached: 'perhaps' });
  const response = await callAttach(stage, folder, before, signal);
  const device = response?.device ?? '';
  await folder.save({ ...stateOf(stage), attached: response === undefined ? 'no' : 'yes', device });
  return device;
}

async function callAttach(
  stage: FlexStage,
  folder: StageFolder,
  before: string,
  signal: AbortSignal,
): Promise<FlexResponse | undefined> {
  const { driver, drivers, options } = stage;
  try {
    return await unlessNotSupported(driver.call('attach', [options, drivers.nodeName], { signal }));
  } catch (thrown) {
    // A reported failure is trusted; after a killed driver the state is unknown.
    const isUndone = before === 'no' && thrown instanceof FlexFailureError;
    if (isUndone) await folder.save({ ...stateOf(stage), attached: 'no' });
    throw thrown;
  }
}

async function waitForAttach(stage: FlexStage, device: string, signal: AbortSignal): Promise<string> {
  const { driver, options } = stage;
  const timeoutMs = WAIT_FOR_ATTACH_MS;
  const response = await unlessNotSupported(
    driver.call('waitforattach', [device, options], { signal, timeoutMs }),
  );
  const found = response?.device ?? '';
  return found === '' ? device : found;
}

/** Attaches the volume and mounts it on the node. Idempotent.
 *  @throws VolumeSetupError */
export async function stageFlex(stage: FlexStage, folder: StageFolder, signal: AbortSignal): Promise<void> {
  const { driver, options, services } = stage;
  const target = folder.globalMount;
  const attached = await attach(stage, folder, signal);
  await mkdir(target, { recursive: true, mode: 0o750 });
  if (await isMountPoint(services.mounter, target)) return;
  const device = await waitForAttach(stage, attached, signal);
  await folder.save({ ...folder.saved, mountedDevice: device });
  const mounted = await unlessNotSupported(driver.call('mountdevice', [target, device, options], { signal }));
  if (mounted === undefined && device !== '') await stage.mountDevice(device, target, signal);
}

/** Runs before the device mount is unmounted, because a driver may have more to undo than the mount. */
export async function unmountFlexDevice(
  driver: FlexDriver,
  folder: StageFolder,
  services: UndoServices,
  signal: AbortSignal,
): Promise<void> {
  if (!(await isMountPoint(services.mounter, folder.globalMount))) return;
  await unlessNotSupported(driver.call('unmountdevice', [folder.globalMount], { signal }));
}

/** @param state saved by `stageFlex` */
export async function detachFlex(
  driver: FlexDriver,
  drivers: FlexDrivers,
  state: UndoState,
  signal: AbortSignal,
): Promise<void> {
  const { attached = 'no', volumeName = '', options = '{}' } = state;
  if (attached === 'no') return;
  if ((await isAttached({ driver, drivers, options }, signal)) === false) return;
  await unlessNotSupported(driver.call('detach', [volumeName, drivers.nodeName], { signal }));
}
