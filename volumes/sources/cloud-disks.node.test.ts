/** Cloud disks end to end: a loop device under the names that udev would give it. */
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Volume } from '#api/gen/core-v1.ts';
import type { MountedVolume, VolumeManager } from '../contract/volume-manager.ts';
import { createTestDisks } from '../devices/disk.fixture.ts';
import { unmounted } from '../devices/taken-down.fixture.ts';
import { createTestHost, testPod } from '../manage/host.fixture.ts';
import { createVolumeManager } from '../manage/manager.ts';

const never = new AbortController().signal;
const id = '7b8e5d6c-2a1f-4c3e-9d8b-0a1b2c3d4e5f';

interface Cloud {
  readonly volume: Omit<Volume, 'name'>;
  /** Beneath `/dev`. */
  readonly link: string;
  readonly fsType?: string;
  /** Name and device path of the attachment in the node's status. */
  readonly attached?: readonly [name: string, devicePath: string];
}

const CLOUDS: Readonly<Record<string, Cloud>> = {
  awsElasticBlockStore: {
    volume: { awsElasticBlockStore: { volumeID: 'aws://eu-1a/vol-0ab12' } },
    link: 'disk/by-id/nvme-Amazon_Elastic_Block_Store_vol0ab12',
  },
  gcePersistentDisk: {
    volume: { gcePersistentDisk: { pdName: 'web', fsType: 'xfs' } },
    link: 'disk/by-id/google-web',
    fsType: 'xfs',
  },
  cinder: {
    volume: { cinder: { volumeID: id } },
    link: `disk/by-id/virtio-${id.slice(0, 20)}`,
  },
  azureDisk: {
    volume: { azureDisk: { diskName: 'web', diskURI: '/subscriptions/1/web', kind: 'Managed' } },
    link: 'disk/azure/scsi1/lun7',
    attached: ['azure-disk//subscriptions/1/web', '7'],
  },
  vsphereVolume: {
    volume: { vsphereVolume: { volumePath: '[store] disks/web.vmdk' } },
    link: 'disk/by-id/wwn-0x6000c29',
    attached: ['vsphere-volume/[store] disks/web.vmdk', '/dev/disk/by-id/wwn-0x6000c29'],
  },
  photonPersistentDisk: {
    volume: { photonPersistentDisk: { pdID: id } },
    link: `disk/by-id/wwn-0x${id.replaceAll('-', '')}`,
  },
  fc: {
    volume: { fc: { wwids: ['3600508b400105e210000900000490000'], fsType: 'ext3' } },
    link: 'disk/by-id/scsi-3600508b400105e210000900000490000',
    fsType: 'ext3',
  },
};

async function mountOne(manager: VolumeManager, uid: string, volume: Volume): Promise<MountedVolume> {
  const [mounted] = [...(await manager.mountPod(testPod(uid, [volume]), never)).values()];
  if (mounted === undefined) throw new Error('nothing was mounted');
  return mounted;
}

async function createWorld() {
  const disks = await createTestDisks();
  const t = await createTestHost();
  const dev = join(t.base, 'dev');
  await mkdir(dev);
  await mkdir(join(t.base, 'sys'));
  const devices = { dev, sys: '/sys' };
  return {
    disks,
    t,
    async link(name: string, device: string): Promise<void> {
      await mkdir(dirname(join(dev, name)), { recursive: true });
      await symlink(device, join(dev, name));
    },
    manager: (reportsVolumes = false) => createVolumeManager({ ...t.host, devices, reportsVolumes }),
    async [Symbol.asyncDispose]() {
      await t[Symbol.asyncDispose]();
      await disks[Symbol.asyncDispose]();
    },
  };
}

describe('cloud disks', () => {
  test.each(Object.entries(CLOUDS))(
    '%s is formatted, mounted, written, and found again',
    async (_name, cloud) => {
      await using world = await createWorld();
      const { t } = world;
      await using disk = await world.disks.disk(cloud.fsType === 'xfs' ? 320 : 16);
      await world.link(cloud.link, disk.device);
      const manager = world.manager(cloud.attached !== undefined);
      if (cloud.attached !== undefined) {
        const [name, devicePath] = cloud.attached;
        const full = `${t.host.vocabulary.domain}/${name}`;
        manager.inUse.reported([full]);
        manager.inUse.attached([{ name: full, devicePath }]);
      }
      const volume: Volume = { name: 'data', ...cloud.volume };
      const first = await mountOne(manager, 'p1', volume);
      await writeFile(join(first.hostPath, 'kept'), 'kept');
      const mounts = await t.mounts();
      expect(mounts.map(({ fsType }) => fsType)).toEqual(Array(2).fill(cloud.fsType ?? 'ext4'));
      expect(mounts.map(({ source }) => source)).toEqual(Array(2).fill(disk.device));
      await unmounted(manager, 'p1');
      expect(await t.mounts()).toEqual([]);
      const second = await mountOne(manager, 'p2', volume);
      expect(await readFile(join(second.hostPath, 'kept'), 'utf8')).toBe('kept');
      await unmounted(manager, 'p2');
      expect(await t.mounts()).toEqual([]);
      expect(await manager.podsOnDisk()).toEqual([]);
    },
  );

  test('a partition is mounted, read-only if requested', async () => {
    await using world = await createWorld();
    await using disk = await world.disks.disk(32, { partitions: true });
    await world.disks.run('sfdisk', ['--quiet', disk.device], 'label: gpt\n,8MiB\n,\n');
    // For kernels that do not read partition tables themselves.
    await world.disks.run('partx', ['--update', disk.device]);
    await world.link('disk/by-id/google-web', disk.device);
    const manager = world.manager();
    const gcePersistentDisk = { pdName: 'web', partition: 2 };
    const written = await mountOne(manager, 'p1', { name: 'data', gcePersistentDisk });
    await writeFile(join(written.hostPath, 'kept'), 'kept');
    expect((await world.t.mounts())[0]?.source).toBe(`${disk.device}p2`);
    await unmounted(manager, 'p1');
    const volume = { name: 'data', gcePersistentDisk: { ...gcePersistentDisk, readOnly: true } };
    const read = await mountOne(manager, 'p2', volume);
    expect(read.readOnly).toBe(true);
    expect(await readFile(join(read.hostPath, 'kept'), 'utf8')).toBe('kept');
    await expect(writeFile(join(read.hostPath, 'other'), '')).rejects.toThrow('EROFS');
    await unmounted(manager, 'p2');
    expect(await world.t.mounts()).toEqual([]);
  });

  test('a disk that is attached later is mounted once it appears', async () => {
    await using world = await createWorld();
    await using disk = await world.disks.disk(16);
    const manager = world.manager(true);
    const name = `${world.t.host.vocabulary.domain}/cinder/${id}`;
    const mounting = mountOne(manager, 'p1', { name: 'data', cinder: { volumeID: id } });
    expect(await Promise.race([mounting, Promise.resolve('waiting')])).toBe('waiting');
    manager.inUse.reported([name]);
    manager.inUse.attached([{ name, devicePath: '/dev/vdx' }]);
    await world.link('vdx', disk.device);
    await writeFile(join((await mounting).hostPath, 'kept'), 'kept');
    await unmounted(manager, 'p1');
  });
});
