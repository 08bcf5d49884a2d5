/** A volume source from a block device plugin: what is the same for all of them lies in `pipeline.ts`. */
import { attachableVolumeName } from '#api/meta/volume-names.ts';
import { defineSource, type SourceFields, type SourcePlugin } from '../sources/source.ts';
import type { DevicePlugin } from './contract.ts';

/** Brings the device to the node, and to pods as a file system or as it is. Unless the plugin says otherwise, it can
 *  be used raw and takes mount options. */
export function defineDeviceSource<K extends keyof SourceFields>(plugin: DevicePlugin<K>): SourcePlugin {
  const about = { block: true, mountOptions: true, ...plugin.about };
  return defineSource(
    plugin.name,
    about,
    async (spec, request) => {
      const volume = plugin.identify(spec, request.services.domain);
      const used = plugin.inUse?.(spec);
      const told = used === undefined ? undefined : attachableVolumeName(request.services.domain, used);
      const name = told ?? (plugin.attachedByOthers === true ? volume.uniqueName : undefined);
      const attachedAs = name === undefined ? undefined : await request.attached(name);
      const { setUpDevice } = await import('./pipeline.ts');
      return setUpDevice({ plugin, spec, volume, request, attachedAs });
    },
    {
      unstage: async (record, _folder, services, signal) => {
        const { unstageDevice } = await import('./pipeline.ts');
        await unstageDevice(plugin, record, services, signal);
      },
    },
  );
}
