/** gcePersistentDisk: a disk of Google's cloud. Source: volume sources, document 3 §2.3. */

import type { DevicePlugin } from '../contract/devices.ts';
import type { SourcePlugin } from '../contract/source.ts';
import { byId, waitForDisk } from '../devices/attached-disk.ts';
import { defineDeviceSource } from '../devices/define-source.ts';
import { checkFsType, checkName, checkPartition } from '../devices/fields.ts';

const NAME = 'the name of a disk';

export const gcePlugin: DevicePlugin<'gcePersistentDisk'> = {
  name: 'gcePersistentDisk',
  about: {
    summary: 'A persistent disk of Google Compute Engine that is attached to the machine.',
    use: 'both',
    block: true,
    mountOptions: true,
    notes: ['The disk is found by its udev names. The agent does not attach it.'],
  },
  dirName: 'gce-pd',
  attachedByOthers: true,

  identify(spec, domain) {
    const name = checkName('gcePersistentDisk.pdName', spec.pdName, NAME);
    const partition = checkPartition('gcePersistentDisk.partition', spec.partition);
    return {
      uniqueName: `${domain}/gce-pd/${name}`,
      fsType: checkFsType('gcePersistentDisk.fsType', spec.fsType),
      readOnly: spec.readOnly === true,
      ...(partition === undefined ? {} : { partition }),
    };
  },

  attach(spec, services, _save, signal) {
    const name = checkName('gcePersistentDisk.pdName', spec.pdName, NAME);
    const links = byId(services.paths, `google-${name}`, `scsi-0Google_PersistentDisk_${name}`);
    return waitForDisk(services, links, signal);
  },
};

export const gcePersistentDisk: SourcePlugin = defineDeviceSource(gcePlugin);
