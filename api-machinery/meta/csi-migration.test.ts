import { describe, expect, test } from 'vitest';
import { gatesOn } from '../schema/feature-gates.ts';
import {
  driverOfPlugin,
  type MigratableSource,
  type MigratedSource,
  migrateSource,
} from './csi-migration.ts';

const gates = gatesOn({});
const migrate = (
  source: MigratableSource,
  more: { readonly gates?: ReadonlySet<string>; readonly labels?: Readonly<Record<string, string>> } = {},
): MigratedSource | undefined => migrateSource(source, { domain: 'x.io', gates, ...more });

const zone = (text: string): Readonly<Record<string, string>> => ({ 'topology.x.io/zone': text });
const disk = { gcePersistentDisk: { pdName: 'd' } };

describe('migrateSource', () => {
  test.each<[MigratableSource, MigratedSource | undefined]>([
    [
      { awsElasticBlockStore: { volumeID: 'vol-1', fsType: 'ext4', partition: 2, readOnly: true } },
      {
        plugin: 'x.io/aws-ebs',
        driver: 'ebs.csi.aws.com',
        volumeHandle: 'vol-1',
        fsType: 'ext4',
        readOnly: true,
        volumeAttributes: { partition: '2' },
      },
    ],
    [
      { awsElasticBlockStore: { volumeID: 'aws://eu-1a/vol-1' } },
      { plugin: 'x.io/aws-ebs', driver: 'ebs.csi.aws.com', volumeHandle: 'vol-1' },
    ],
    [{ awsElasticBlockStore: { volumeID: 'aws://eu-1a/snap-1' } }, undefined],
    [
      { azureDisk: { diskName: 'd', diskURI: '/subscriptions/s/disks/d' } },
      { plugin: 'x.io/azure-disk', driver: 'disk.csi.azure.com', volumeHandle: '/subscriptions/s/disks/d' },
    ],
    [
      { cinder: { volumeID: 'c' } },
      { plugin: 'x.io/cinder', driver: 'cinder.csi.openstack.org', volumeHandle: 'c' },
    ],
    [{ cinder: { volumeID: '' } }, undefined],
    [{ vsphereVolume: { volumePath: '[d] v.vmdk' } }, undefined],
    [{}, undefined],
  ])('%j', (source, expected) => {
    expect(migrate(source)).toEqual(expected);
  });

  test.each<[Readonly<Record<string, string>>, string]>([
    [{}, 'projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d'],
    [zone('eu-west1-b'), 'projects/UNSPECIFIED/zones/eu-west1-b/disks/d'],
    [{ 'failure-domain.beta.x.io/zone': 'eu-west1-b' }, 'projects/UNSPECIFIED/zones/eu-west1-b/disks/d'],
    [zone('eu-west1-b__eu-west1-c'), 'projects/UNSPECIFIED/regions/eu-west1/disks/d'],
  ])('finds a disk by the labels %j', (labels, volumeHandle) => {
    expect(migrate(disk, { labels })?.volumeHandle).toBe(volumeHandle);
  });

  test('checks the gates', () => {
    const volume = { vsphereVolume: { volumePath: 'v' } };
    expect(migrate(volume, { gates: gatesOn({ CSIMigrationvSphere: true }) })?.volumeHandle).toBe('v');
    expect(migrate(disk, { gates: gatesOn({ CSIMigrationGCE: false }) })).toBeUndefined();
    expect(migrate(disk, { gates: gatesOn({ CSIMigration: false }) })).toBeUndefined();
  });
});

describe('driverOfPlugin', () => {
  test.each([
    ['x.io/aws-ebs', 'ebs.csi.aws.com'],
    ['x.io/vsphere-volume', undefined],
    ['vendor.example', undefined],
    ['x.io/no-provisioner', undefined],
  ])('%s: %s', (plugin, expected) => {
    expect(driverOfPlugin(plugin, { domain: 'x.io', gates })).toBe(expected);
  });
});
