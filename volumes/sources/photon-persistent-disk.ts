/** photonPersistentDisk: a disk of VMware's Photon Controller. Source: volume sources, document 3 §2.3. */

import type { DevicePlugin } from '../contract/devices.ts';
import type { SourcePlugin } from '../contract/source.ts';
import { byId, waitForDisk } from '../devices/attached-disk.ts';
import { defineDeviceSource } from '../devices/define-source.ts';
import { badField, checkFsType } from '../devices/fields.ts';
import { scanAllHosts } from '../devices/scsi-hosts.ts';

const PD_ID = /^[A-Za-z0-9][A-Za-z0-9-]{0,63}$/;

function idOf(pdID: string): string {
  if (PD_ID.test(pdID)) return pdID;
  throw badField('photonPersistentDisk.pdID', pdID, 'must be the id of a disk: letters, digits and hyphens');
}

export const photonPlugin: DevicePlugin<'photonPersistentDisk'> = {
  name: 'photonPersistentDisk',
  about: {
    summary: 'A persistent disk of VMware Photon Controller that is attached to the machine.',
    use: 'both',
    block: true,
    mountOptions: true,
    programs: ['tee'],
    notes: ['The disk is found by its udev name. The agent does not attach it.'],
  },
  dirName: 'photon-pd',
  attachedByOthers: true,

  identify(spec, domain) {
    return {
      uniqueName: `${domain}/photon-pd/${idOf(spec.pdID)}`,
      fsType: checkFsType('photonPersistentDisk.fsType', spec.fsType),
      readOnly: false,
    };
  },

  async attach(spec, services, _save, signal) {
    const id = idOf(spec.pdID).replaceAll('-', '').toLowerCase();
    // These machines do not detect new disks by themselves.
    await scanAllHosts(services, signal);
    return waitForDisk(services, byId(services.paths, `wwn-0x${id}`), signal);
  },
};

export const photonPersistentDisk: SourcePlugin = defineDeviceSource(photonPlugin);
