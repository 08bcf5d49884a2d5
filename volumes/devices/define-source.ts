/** Volume source of a block device plugin; the common steps are in `pipeline.ts`. */
import { attachableVolumeName } from '#api/meta/volume-names.ts';
import type { DevicePlugin } from '../contract/devices.ts';
import { defineSource, type SourceFields, type SourcePlugin } from '../contract/source.ts';

/** Attaches the device and provides it to pods as a file system or raw. By default it supports raw use and
 *  mount options. */
export function defineDeviceSource<K extends keyof SourceFields>(plugin: DevicePlugin<K>): SourcePlugin {
  const about = { block: true, mountOptions: true, ...plugin.about };
  return defineSource(
    plugin.name,
    about,
    async (spec, request) => {
      const volume = plugin.identify(spec, request.services.domain);
      const used = plugin.inUse?.(spec);
      const attachableName =
        used === undefined ? undefined : attachableVolumeName(request.services.domain, used);
      const name = attachableName ?? (plugin.attachedByOthers === true ? volume.uniqueName : undefined);
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
