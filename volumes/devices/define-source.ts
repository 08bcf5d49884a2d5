/** A volume source from a block device plugin: what is the same for all of them. */
import { VolumeSetupError } from '../setup-error.ts';
import { defineSource, type SourceFields, type SourcePlugin } from '../sources/source.ts';
import type { DevicePlugin } from './contract.ts';

/** Brings the device to the node, and to pods as a file system or as it is. */
export function defineDeviceSource<K extends keyof SourceFields>(plugin: DevicePlugin<K>): SourcePlugin {
  return defineSource(plugin.name, plugin.about, (spec, request) => {
    const { uniqueName } = plugin.identify(spec, request.services.domain);
    return Promise.reject(new VolumeSetupError(`device ${uniqueName} can't be staged`));
  });
}
