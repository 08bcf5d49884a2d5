/** awsElasticBlockStore: a disk of Amazon's cloud. Source: volume sources, document 3 §2.3. */

import type { DevicePlugin } from '../contract/devices.ts';
import type { SourcePlugin } from '../contract/source.ts';
import { attachedPath, byId } from '../devices/attached-disk.ts';
import { defineDeviceSource } from '../devices/define-source.ts';
import { badField, checkFsType, checkPartition } from '../devices/fields.ts';

const VOLUME_ID = /^(?:aws:\/\/[A-Za-z0-9-]*\/+)?(vol-[A-Za-z0-9]{1,64})$/;
const FORM =
  'must be the id of a volume, such as vol-0fab1d5e3f72a5e23 or aws://us-east-1a/vol-0fab1d5e3f72a5e23';

function idOf(volumeID: string): string {
  const id = VOLUME_ID.exec(volumeID)?.[1];
  if (id === undefined) throw badField('awsElasticBlockStore.volumeID', volumeID, FORM);
  return id;
}

export const awsPlugin: DevicePlugin<'awsElasticBlockStore'> = {
  name: 'awsElasticBlockStore',
  about: {
    summary: 'A disk of Amazon Elastic Block Store that is attached to the machine.',
    use: 'both',
    block: true,
    mountOptions: true,
    notes: [
      'The disk is found by its NVMe name, or at the device path of its attachment. The agent does not attach it.',
    ],
  },
  dirName: 'aws-ebs',
  attachedByOthers: true,

  identify(spec, domain) {
    idOf(spec.volumeID);
    const partition = checkPartition('awsElasticBlockStore.partition', spec.partition);
    return {
      uniqueName: `${domain}/aws-ebs/${spec.volumeID}`,
      fsType: checkFsType('awsElasticBlockStore.fsType', spec.fsType),
      readOnly: spec.readOnly === true,
      ...(partition === undefined ? {} : { partition }),
    };
  },

  attach(spec, services, _save, signal) {
    const serial = idOf(spec.volumeID).replace('-', '');
    const attachedAt = attachedPath(services);
    // Xen machines know the disk by its attachment name, or by that of their own driver.
    const xen =
      attachedAt === undefined ? [] : [attachedAt, attachedAt.replace(/\/sd([a-z]+\d*)$/, '/xvd$1')];
    const nvme = byId(services.paths, `nvme-Amazon_Elastic_Block_Store_${serial}`);
    return services.waitForDevice([...new Set([...nvme, ...xen])], signal);
  },
};

export const awsElasticBlockStore: SourcePlugin = defineDeviceSource(awsPlugin);
