/** Flex volumes that become larger: no service of the cluster does any of it, so the node asks the driver for both the
 *  volume and its file system. Source: upstream's flexvolume expander, release 1.24. */
import { growFileSystem } from '../devices/resize.ts';
import type { Expand } from '../expansion/contract.ts';
import type { UndoServices } from '../sources/source.ts';
import type { StageFolder } from '../staging/contract.ts';
import type { FlexDriver } from './drivers.ts';
import { unlessNotSupported } from './stage.ts';

export interface FlexGrowth {
  readonly driver: FlexDriver;
  /** The volume as JSON, without anything of pods. */
  readonly options: string;
  readonly services: UndoServices;
  readonly folder: StageFolder;
}

/** Large disks with much to copy take their time. */
const EXPAND_MS = 600_000;

export function createFlexExpand({ driver, options, services, folder }: FlexGrowth): Expand {
  return async ({ sizeBytes, sizeBeforeBytes, signal }) => {
    const { globalMount: target } = folder;
    const sizes = [String(sizeBytes), String(sizeBeforeBytes)];
    const call = { signal, timeoutMs: EXPAND_MS };
    await unlessNotSupported(driver.call('expandvolume', [options, target, ...sizes], call));
    if (!driver.capabilities.requiresFSResize) return;
    const { mountedDevice: device = '' } = folder.saved;
    const grown = await unlessNotSupported(
      driver.call('expandfs', [options, device, target, ...sizes], call),
    );
    // What the agent mounted itself it can let grow itself.
    if (grown !== undefined || device === '') return;
    const { run, mounter, devices: paths } = services;
    await growFileSystem({ run, mounter, paths }, { device, target }, signal);
  };
}
