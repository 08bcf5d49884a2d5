/** cinder: a disk of OpenStack. Source: volume sources, document 3 §2.3 and §2.5. */

import type { DevicePlugin } from '../contract/devices.ts';
import type { SourcePlugin } from '../contract/source.ts';
import { byId, waitForDisk } from '../devices/attached-disk.ts';
import { defineDeviceSource } from '../devices/define-source.ts';
import { badField, checkFsType } from '../devices/fields.ts';
import { readSecretRef } from '../objects/secret-ref.ts';

/** Length of the serial number of a QEMU disk. */
const SERIAL_LENGTH = 20;
const VOLUME_ID = /^[A-Za-z0-9][A-Za-z0-9-]{7,63}$/;
const FORM = 'must be the id of a volume, such as 7b8e5d6c-2a1f-4c3e-9d8b-0a1b2c3d4e5f';

function idOf(volumeID: string): string {
  if (!VOLUME_ID.test(volumeID)) throw badField('cinder.volumeID', volumeID, FORM);
  return volumeID;
}

export const cinderPlugin: DevicePlugin<'cinder'> = {
  name: 'cinder',
  about: {
    summary: 'A disk of OpenStack Cinder that is attached to the machine.',
    use: 'both',
    block: true,
    mountOptions: true,
    notes: [
      'The disk is found by its udev names. The agent does not attach it.',
      'The secret of secretRef is meant for the attacher; the node only checks that it exists.',
    ],
  },
  dirName: 'cinder',
  attachedByOthers: true,

  identify(spec, domain) {
    return {
      uniqueName: `${domain}/cinder/${idOf(spec.volumeID)}`,
      fsType: checkFsType('cinder.fsType', spec.fsType),
      readOnly: spec.readOnly === true,
    };
  },

  async attach(spec, services, _save, signal) {
    const id = idOf(spec.volumeID);
    if (spec.secretRef !== undefined) {
      await readSecretRef(services.objects, services.namespace, spec.secretRef);
    }
    const serial = id.slice(0, SERIAL_LENGTH);
    const links = byId(
      services.paths,
      `virtio-${serial}`,
      `scsi-0QEMU_QEMU_HARDDISK_${serial}`,
      `scsi-0QEMU_QEMU_HARDDISK_${id}`,
      `wwn-0x${id.replaceAll('-', '')}`,
    );
    return waitForDisk(services, [...new Set(links)], signal);
  },
};

export const cinder: SourcePlugin = defineDeviceSource(cinderPlugin);
