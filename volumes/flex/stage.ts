/** The part of a flex volume that a node has once: attached, and mounted for the node, by drivers that say they
 *  attach. Whoever has no such call leaves the part to the agent. */
import { mkdir } from 'node:fs/promises';
import type { UndoServices } from '../sources/source.ts';
import type { StageFolder, UndoState } from '../staging/contract.ts';
import type { FlexDriver, FlexDrivers } from './drivers.ts';
import { isMountPoint } from './mount-point.ts';
import { type FlexAnswer, FlexFailureError, FlexNotSupportedError } from './protocol.ts';

/** Of drivers that wait for a device. Source: upstream's `waitForAttachTimeout`. */
const WAIT_FOR_ATTACH_MS = 600_000;

export interface FlexStage {
  readonly driver: FlexDriver;
  readonly drivers: FlexDrivers;
  /** By which the driver knows the volume. */
  readonly volumeName: string;
  /** The volume as JSON, without anything of pods. */
  readonly options: string;
  readonly services: UndoServices;
  /** Mounts a device for a driver that attaches and doesn't mount. */
  readonly mountDevice: (device: string, target: string, signal: AbortSignal) => Promise<void>;
}

/** The answer, or undefined from a driver that has no such call. */
export async function unlessNotSupported<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
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
  const answer = await unlessNotSupported(driver.call('isattached', [options, drivers.nodeName], { signal }));
  return answer?.attached;
}

/** @returns the device as the driver names it; empty where it doesn't attach after all */
async function attach(stage: FlexStage, folder: StageFolder, signal: AbortSignal): Promise<string> {
  const { attached: before = 'no', device: known = '' } = folder.saved;
  if (before === 'yes') {
    // What is mounted is attached, where nobody says.
    const isMounted = await isMountPoint(stage.services.mounter, folder.globalMount);
    if ((await isAttached(stage, signal)) ?? isMounted) return known;
  }
  await folder.save({ ...stateOf(stage), attached: 'perhaps' });
  const answer = await callAttach(stage, folder, before, signal);
  const device = answer?.device ?? '';
  await folder.save({ ...stateOf(stage), attached: answer === undefined ? 'no' : 'yes', device });
  return device;
}

async function callAttach(
  stage: FlexStage,
  folder: StageFolder,
  before: string,
  signal: AbortSignal,
): Promise<FlexAnswer | undefined> {
  const { driver, drivers, options } = stage;
  try {
    return await unlessNotSupported(driver.call('attach', [options, drivers.nodeName], { signal }));
  } catch (thrown) {
    // Its own word is taken; of a driver that was killed nobody knows how far it came.
    const isUndone = before === 'no' && thrown instanceof FlexFailureError;
    if (isUndone) await folder.save({ ...stateOf(stage), attached: 'no' });
    throw thrown;
  }
}

async function waitForAttach(stage: FlexStage, device: string, signal: AbortSignal): Promise<string> {
  const { driver, options } = stage;
  const timeoutMs = WAIT_FOR_ATTACH_MS;
  const answer = await unlessNotSupported(
    driver.call('waitforattach', [device, options], { signal, timeoutMs }),
  );
  const found = answer?.device ?? '';
  return found === '' ? device : found;
}

/** Attaches the volume and mounts it for the node, as far as that isn't done.
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

/** Before what is mounted for the node is unmounted: a driver may have more to undo than the mount. */
export async function unmountFlexDevice(
  driver: FlexDriver,
  folder: StageFolder,
  services: UndoServices,
  signal: AbortSignal,
): Promise<void> {
  if (!(await isMountPoint(services.mounter, folder.globalMount))) return;
  await unlessNotSupported(driver.call('unmountdevice', [folder.globalMount], { signal }));
}

/** @param state what `stageFlex` kept */
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
