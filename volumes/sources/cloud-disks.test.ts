/** Cloud disks: their names, validation errors, and lookup. */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { DevicePlugin } from '../contract/devices.ts';
import type { SourceFields } from '../contract/source.ts';
import { createTestDevices, never, secretOf } from '../devices/devices.fixture.ts';
import { awsPlugin } from './aws-elastic-block-store.ts';
import { azureDiskPlugin } from './azure-disk.ts';
import { cinderPlugin } from './cinder.ts';
import { gcePlugin } from './gce-persistent-disk.ts';
import { photonPlugin } from './photon-persistent-disk.ts';
import { vspherePlugin } from './vsphere-volume.ts';

/** A plugin with one of its specs, so that a table can hold several kinds. */
interface Case {
  readonly identify: () => unknown;
  readonly attach: (attachedAs: string | undefined, present: string) => Promise<string>;
}

function caseOf<K extends keyof SourceFields>(
  plugin: DevicePlugin<K>,
  spec: NonNullable<SourceFields[K]>,
): Case {
  return {
    identify: () => plugin.identify(spec, 'd.example'),
    async attach(attachedAs, present) {
      await using devices = await createTestDevices({ tee: async () => undefined });
      devices.secrets.set('default/openstack', secretOf({}));
      const path = devices.path(present.slice(1));
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, '');
      const found = await plugin.attach(spec, { ...devices.services, attachedAs }, devices.save, never);
      expect(devices.saved).toEqual([]);
      return found.slice(devices.base.length);
    },
  };
}

const aws = { volumeID: 'aws://eu-1a/vol-0ab12' };
const azure = {
  diskName: 'web',
  diskURI: '/subscriptions/1/resourceGroups/g/providers/Microsoft.Compute/disks/web',
  kind: 'Managed' as const,
};
const id = '7b8e5d6c-2a1f-4c3e-9d8b-0a1b2c3d4e5f';
const vmdk = { volumePath: '[store] disks/web.vmdk' };

describe('identify', () => {
  test.each<[string, Case, object]>([
    [
      'aws',
      caseOf(awsPlugin, { ...aws, partition: 2, readOnly: true }),
      { uniqueName: 'd.example/aws-ebs/aws://eu-1a/vol-0ab12', fsType: 'ext4', readOnly: true, partition: 2 },
    ],
    [
      'azure',
      caseOf(azureDiskPlugin, { ...azure, cachingMode: 'ReadOnly', readOnly: true }),
      { uniqueName: `d.example/azure-disk/${azure.diskURI}`, fsType: 'ext4', readOnly: true },
    ],
    [
      'gce',
      caseOf(gcePlugin, { pdName: 'web', fsType: 'xfs', partition: 0 }),
      { uniqueName: 'd.example/gce-pd/web', fsType: 'xfs', readOnly: false },
    ],
    [
      'cinder',
      caseOf(cinderPlugin, { volumeID: id, readOnly: true }),
      { uniqueName: `d.example/cinder/${id}`, fsType: 'ext4', readOnly: true },
    ],
    [
      'vsphere',
      caseOf(vspherePlugin, vmdk),
      { uniqueName: 'd.example/vsphere-volume/[store] disks/web.vmdk', fsType: 'ext4', readOnly: false },
    ],
    [
      'photon',
      caseOf(photonPlugin, { pdID: id }),
      { uniqueName: `d.example/photon-pd/${id}`, fsType: 'ext4', readOnly: false },
    ],
  ])('%s', (_name, { identify }, volume) => expect(identify()).toEqual(volume));

  test.each<[Case, string]>([
    [
      caseOf(awsPlugin, { volumeID: 'vol-1/../sda' }),
      'awsElasticBlockStore.volumeID "vol-1/../sda": must be',
    ],
    [caseOf(awsPlugin, { ...aws, partition: 256 }), 'awsElasticBlockStore.partition 256: must be a number'],
    [caseOf(awsPlugin, { ...aws, fsType: '../x' }), 'awsElasticBlockStore.fsType "../x"'],
    [caseOf(gcePlugin, { pdName: '../../sda' }), 'gcePersistentDisk.pdName "../../sda": must be the name'],
    [caseOf(gcePlugin, { pdName: '' }), 'gcePersistentDisk.pdName: Required value'],
    [caseOf(cinderPlugin, { volumeID: '..' }), 'cinder.volumeID "..": must be the id'],
    [
      caseOf(azureDiskPlugin, { ...azure, kind: 'Shared' }),
      'must begin with https:// for a disk of kind Shared',
    ],
    [
      caseOf(azureDiskPlugin, { ...azure, diskURI: 'https://a/b' }),
      'must begin with /subscriptions/ for a disk of kind Managed',
    ],
    [caseOf(vspherePlugin, { volumePath: '' }), 'vsphereVolume.volumePath "": must be'],
    [
      caseOf(vspherePlugin, { ...vmdk, storagePolicyID: 'x' }),
      'is the id of vsphereVolume.storagePolicyName',
    ],
    [caseOf(photonPlugin, { pdID: 'a/b' }), 'photonPersistentDisk.pdID "a/b"'],
  ])('rejects %#: %s', ({ identify }, message) => expect(identify).toThrow(message));
});

describe('attach', () => {
  const ids = '/dev/disk/by-id';
  test.each<[string, Case, string | undefined, string]>([
    ['aws by NVMe', caseOf(awsPlugin, aws), undefined, `${ids}/nvme-Amazon_Elastic_Block_Store_vol0ab12`],
    ['aws as it was attached', caseOf(awsPlugin, aws), '/dev/xvdba', '/dev/xvdba'],
    ['aws as Xen calls it', caseOf(awsPlugin, aws), '/dev/sdf', '/dev/xvdf'],
    ['azure by number', caseOf(azureDiskPlugin, azure), '3', '/dev/disk/azure/scsi1/lun3'],
    [
      'azure by path',
      caseOf(azureDiskPlugin, azure),
      '/dev/disk/azure/scsi1/lun12',
      '/dev/disk/azure/data/by-lun/12',
    ],
    ['gce', caseOf(gcePlugin, { pdName: 'web' }), undefined, `${ids}/google-web`],
    ['gce by SCSI', caseOf(gcePlugin, { pdName: 'web' }), '', `${ids}/scsi-0Google_PersistentDisk_web`],
    [
      'cinder by virtio',
      caseOf(cinderPlugin, { volumeID: id }),
      undefined,
      `${ids}/virtio-7b8e5d6c-2a1f-4c3e-9`,
    ],
    [
      'cinder by SCSI',
      caseOf(cinderPlugin, { volumeID: id }),
      undefined,
      `${ids}/scsi-0QEMU_QEMU_HARDDISK_7b8e5d6c-2a1f-4c3e-9`,
    ],
    [
      'cinder by name',
      caseOf(cinderPlugin, { volumeID: id, secretRef: { name: 'openstack' } }),
      undefined,
      `${ids}/wwn-0x7b8e5d6c2a1f4c3e9d8b0a1b2c3d4e5f`,
    ],
    ['cinder at the attachment’s path', caseOf(cinderPlugin, { volumeID: id }), '/dev/vdb', '/dev/vdb'],
    ['vsphere by path', caseOf(vspherePlugin, vmdk), `${ids}/wwn-0x6000c29`, `${ids}/wwn-0x6000c29`],
    [
      'vsphere by UUID',
      caseOf(vspherePlugin, vmdk),
      id.toUpperCase(),
      `${ids}/wwn-0x${id.replaceAll('-', '')}`,
    ],
    ['photon', caseOf(photonPlugin, { pdID: id }), undefined, `${ids}/wwn-0x${id.replaceAll('-', '')}`],
  ])('%s', async (_name, { attach }, attachedAs, path) => expect(await attach(attachedAs, path)).toBe(path));

  test.each<[string, Case, string | undefined, string]>([
    ['azure without a number', caseOf(azureDiskPlugin, azure), undefined, 'finds the disk by its LUN'],
    ['azure elsewhere', caseOf(azureDiskPlugin, azure), '/etc/lun1', 'it is "/etc/lun1"'],
    ['vsphere without a path', caseOf(vspherePlugin, vmdk), undefined, 'a path or the disk’s UUID'],
    ['a path elsewhere', caseOf(awsPlugin, aws), '/etc/shadow', 'not beneath /dev/'],
    ['no such disk', caseOf(gcePlugin, { pdName: 'web' }), undefined, 'google-web or '],
    [
      'no such secret',
      caseOf(cinderPlugin, { volumeID: id, secretRef: { name: 'none' } }),
      undefined,
      'Secret default/none not found',
    ],
  ])('rejects %s', async (_name, { attach }, attachedAs, message) => {
    await expect(attach(attachedAs, '/dev/other')).rejects.toThrow(message);
  });
});
