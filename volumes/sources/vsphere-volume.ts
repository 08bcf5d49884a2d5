/** vsphereVolume: a disk of VMware vSphere. Its name on the machine comes with its attachment. Spec: document 3, 2.3. */
import type { VsphereVirtualDiskVolumeSource } from '#api/schema/gen/core-v1.ts';
import { attachedPath, byId } from '../devices/attached-disk.ts';
import type { DevicePlugin } from '../devices/contract.ts';
import { defineDeviceSource } from '../devices/define-source.ts';
import { badField, checkFsType } from '../devices/fields.ts';
import { VolumeSetupError } from '../setup-error.ts';
import type { SourcePlugin } from './source.ts';

const LONGEST_PATH = 1024;

function check({
  volumePath,
  storagePolicyID = '',
  storagePolicyName = '',
}: VsphereVirtualDiskVolumeSource): void {
  const usable = volumePath !== '' && volumePath.length <= LONGEST_PATH && !/\p{Cc}/u.test(volumePath);
  if (!usable) {
    throw badField(
      'vsphereVolume.volumePath',
      volumePath,
      'must be a disk’s path, such as [datastore1] disks/web.vmdk',
    );
  }
  if (storagePolicyID !== '' && storagePolicyName === '') {
    const right = 'needs vsphereVolume.storagePolicyName, whose id it is';
    throw badField('vsphereVolume.storagePolicyID', storagePolicyID, right);
  }
}

const UUID = /^[0-9a-f]{32}$/;

export const vspherePlugin: DevicePlugin<'vsphereVolume'> = {
  name: 'vsphereVolume',
  about: {
    summary: 'A virtual disk of VMware vSphere that is attached to the machine.',
    use: 'both',
    block: true,
    mountOptions: true,
    notes: [
      'Only its attachment tells by which name the machine knows the disk: the node has to have joined a server.',
      'Storage policies are for whoever attaches the disk.',
    ],
  },
  dirName: 'vsphere-volume',
  attachedByOthers: true,

  identify(spec, domain) {
    check(spec);
    return {
      uniqueName: `${domain}/vsphere-volume/${spec.volumePath}`,
      fsType: checkFsType('vsphereVolume.fsType', spec.fsType),
      readOnly: false,
    };
  },

  async attach(spec, services, _save, signal) {
    const { attachedAs = '' } = services;
    const uuid = attachedAs.replaceAll('-', '').toLowerCase();
    const told = attachedPath(services);
    if (told !== undefined) return services.waitForDevice([told], signal);
    if (UUID.test(uuid)) return services.waitForDevice(byId(services.paths, `wwn-0x${uuid}`), signal);
    throw new VolumeSetupError(
      `vsphereVolume ${spec.volumePath}: the node finds the disk by the devicePath of its attachment in node.status.volumesAttached, a path or the disk’s UUID; it has none`,
    );
  },
};

export const vsphereVolume: SourcePlugin = defineDeviceSource(vspherePlugin);
