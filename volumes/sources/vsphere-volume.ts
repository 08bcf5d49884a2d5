/** vsphereVolume: a disk of VMware vSphere, found by the device path of its attachment. Source: volume
 *  sources, document 3 §2.3. */
import type { VsphereVirtualDiskVolumeSource } from '#api/gen/core-v1.ts';
import type { DevicePlugin } from '../contract/devices.ts';
import type { SourcePlugin } from '../contract/source.ts';
import { attachedPath, byId } from '../devices/attached-disk.ts';
import { defineDeviceSource } from '../devices/define-source.ts';
import { badField, checkFsType } from '../devices/fields.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';

const MAX_PATH_LENGTH = 1024;

function check({
  volumePath,
  storagePolicyID = '',
  storagePolicyName = '',
}: VsphereVirtualDiskVolumeSource): void {
  const usable = volumePath !== '' && volumePath.length <= MAX_PATH_LENGTH && !/\p{Cc}/u.test(volumePath);
  if (!usable) {
    throw badField(
      'vsphereVolume.volumePath',
      volumePath,
      'must be a disk’s path, such as [datastore1] disks/web.vmdk',
    );
  }
  if (storagePolicyID !== '' && storagePolicyName === '') {
    const right = 'is the id of vsphereVolume.storagePolicyName, which must be set too';
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
      'The agent finds the disk by the device path in its attachment, so the node must have joined an API server.',
      'Storage policies are meant for the attacher.',
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
    const attachedAt = attachedPath(services);
    if (attachedAt !== undefined) return services.waitForDevice([attachedAt], signal);
    if (UUID.test(uuid)) return services.waitForDevice(byId(services.paths, `wwn-0x${uuid}`), signal);
    throw new VolumeSetupError(
      `vsphereVolume ${spec.volumePath}: the node finds the disk by the devicePath of its attachment in node.status.volumesAttached, a path or the disk’s UUID; it has none`,
    );
  },
};

export const vsphereVolume: SourcePlugin = defineDeviceSource(vspherePlugin);
