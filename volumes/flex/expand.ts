/** Expansion of flex volumes: no component of the cluster does it, so the node calls the driver to expand
 *  both the volume and its file system. Source: upstream's flexvolume expander, release 1.24. */

import type { Expand } from '../contract/expansion.ts';
import type { FlexDriver } from '../contract/flex.ts';
import type { UndoServices } from '../contract/source.ts';
import type { StageFolder } from '../contract/staging.ts';
import { growFileSystem } from '../devices/resize.ts';
import { unlessNotSupported } from './stage.ts';

export interface FlexGrowth {
  readonly driver: FlexDriver;
  /** The volume as JSON, without pod data. */
  readonly options: string;
  readonly services: UndoServices;
  readonly folder: StageFolder;
}

/** Large disks may take long. */
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
    // If the agent mounted the file system itself, it can expand it.
    if (grown !== undefined || device === '') return;
    const { run, mounter, devices: paths } = services;
    await growFileSystem({ run, mounter, paths }, { device, target }, signal);
  };
}
