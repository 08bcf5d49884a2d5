import { mkdir, rm, symlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { FCVolumeSource } from '#api/gen/core-v1.ts';
import { createTestDevices, never, type TestDevices } from '../devices/devices.fixture.ts';
import { fcPlugin } from './fc.ts';

const WWN = '500a0982991b8dc5';
const OTHER = '500a0982891b8dc5';
const WWID = '3600508b400105e210000900000490000';
const byPorts: FCVolumeSource = { targetWWNs: [WWN, OTHER], lun: 2 };

interface World extends AsyncDisposable {
  readonly devices: TestDevices;
  /** A disk that the kernel finds during a scan: host, channel, target and LUN. */
  readonly hidden: Map<string, string>;
}

async function createWorld(): Promise<World> {
  const hidden = new Map<string, string>();
  const late: { devices?: TestDevices } = {};

  async function show(address: string, disk: string): Promise<void> {
    const { devices } = late;
    if (devices === undefined) return;
    const dir = devices.path(`sys/bus/scsi/devices/${address}`);
    await devices.write(`sys/bus/scsi/devices/${address}/delete`, '');
    await devices.write(`sys/bus/scsi/devices/${address}/wwid`, `naa.${WWID.slice(1)}\n`);
    await mkdir(`${dir}/block/${disk}/holders`, { recursive: true });
    await mkdir(devices.path('sys/block'), { recursive: true });
    await symlink(`${dir}/block/${disk}`, devices.path(`sys/block/${disk}`));
    await symlink(dir, `${dir}/block/${disk}/device`);
    await devices.write(`dev/${disk}`, '');
  }

  const devices = await createTestDevices({
    async tee([path = ''], { input = '' }) {
      const host = /\/host(\d+)\/scan$/.exec(path)?.[1];
      if (host === undefined) {
        await rm(dirname(path), { recursive: true });
        return undefined;
      }
      const asked = input.split(' ').map((part) => (part === '-' ? '\\d+' : part));
      const matches = new RegExp(`^${[host, ...asked].join(':')}$`);
      for (const [address, disk] of hidden) {
        if (matches.test(address) && hidden.delete(address)) await show(address, disk);
      }
      return undefined;
    },
    blockdev: async () => undefined,
    multipath: async () => undefined,
  });
  late.devices = devices;
  for (const [target, port] of [
    ['1:0:0', WWN],
    ['2:0:5', OTHER],
    ['2:0:6', '500a0982ffffffff'],
  ]) {
    await devices.write(`sys/class/fc_transport/target${target}/port_name`, `0x${port}\n`);
  }
  await devices.write('sys/class/scsi_host/host1/scan', '');
  await devices.write('sys/class/scsi_host/host2/scan', '');
  return { devices, hidden, [Symbol.asyncDispose]: () => devices[Symbol.asyncDispose]() };
}

const attach = ({ devices }: World, spec: FCVolumeSource): Promise<string> =>
  fcPlugin.attach(spec, devices.services, devices.save, never);
const detach = async ({ devices }: World): Promise<void> =>
  fcPlugin.detach?.(devices.saved.at(-1) ?? {}, devices.services, never);

describe('identify', () => {
  test.each<[FCVolumeSource, string]>([
    [byPorts, `d.example/fc/[${WWN} ${OTHER}]:2`],
    [{ wwids: [WWID] }, `d.example/fc/[${WWID}]`],
  ])('names %j', (spec, uniqueName) => {
    expect(fcPlugin.identify({ ...spec, readOnly: true, fsType: 'xfs' }, 'd.example')).toEqual({
      uniqueName,
      fsType: 'xfs',
      readOnly: true,
    });
  });

  test.each<[FCVolumeSource, string]>([
    [{}, 'fc.targetWWNs: Required value'],
    [{ targetWWNs: [WWN] }, 'fc.lun: Required value'],
    [{ ...byPorts, wwids: [WWID] }, 'must not be set together with fc.targetWWNs'],
    [{ targetWWNs: ['0x12'], lun: 0 }, 'fc.targetWWNs[0] "0x12": must be a world wide name'],
    [{ ...byPorts, lun: -1 }, 'fc.lun -1: must be a number'],
    [{ wwids: ['../x'] }, 'fc.wwids[0] "../x": must be a world wide identifier'],
  ])('rejects %j', (spec, message) => {
    expect(() => fcPlugin.identify(spec, 'd.example')).toThrow(message);
  });
});

describe('attach', () => {
  test('scans for the one LUN behind its ports, and removes every path again', async () => {
    await using world = await createWorld();
    world.hidden.set('1:0:0:2', 'sda').set('2:0:5:2', 'sdb').set('2:0:6:2', 'sdc').set('1:0:0:3', 'sdd');
    expect(await attach(world, byPorts)).toBe(world.devices.path('dev/sda'));
    expect([...world.hidden.values()]).toEqual(['sdc', 'sdd']);
    expect(world.devices.saved).toEqual([{ ports: `${WWN} ${OTHER}`, lun: '2' }]);
    const scans = world.devices.ran.length;
    await attach(world, byPorts);
    expect(world.devices.ran).toHaveLength(scans);
    await detach(world);
    expect(world.devices.ran.slice(scans)).toEqual([
      `blockdev --flushbufs ${world.devices.path('dev/sda')}`,
      `tee ${world.devices.path('sys/block/sda/device/delete')}`,
      `blockdev --flushbufs ${world.devices.path('dev/sdb')}`,
      `tee ${world.devices.path('sys/block/sdb/device/delete')}`,
    ]);
  });

  test('the multipath device is used, and removed first', async () => {
    await using world = await createWorld();
    world.hidden.set('1:0:0:2', 'sda').set('2:0:5:2', 'sdb');
    await attach(world, byPorts);
    for (const disk of ['sda', 'sdb']) await world.devices.write(`sys/block/${disk}/holders/dm-0`, '');
    await world.devices.write('sys/block/dm-0/dm/uuid', `mpath-${WWID}\n`);
    await world.devices.write('sys/block/dm-0/dm/name', 'mpathb\n');
    expect(await attach(world, byPorts)).toBe(world.devices.path('dev/dm-0'));
    await expect(detach(world)).rejects.toThrow('disk sda cannot be removed: dm-0 is built on it');
    expect(world.devices.ran.at(-1)).toBe('multipath -f mpathb');
  });

  test('finds a disk by its identifier, wherever it appears', async () => {
    await using world = await createWorld();
    world.hidden.set('2:0:6:9', 'sdx');
    expect(await attach(world, { wwids: ['3600508b400105e2 none', WWID] })).toBe(
      world.devices.path('dev/sdx'),
    );
    await detach(world);
    expect(world.devices.ran.at(-1)).toBe(`tee ${world.devices.path('sys/block/sdx/device/delete')}`);
  });

  test.each<[string, FCVolumeSource, string]>([
    ['by-path', byPorts, `by-path/pci-0000:41:00.0-fc-0x${WWN}-lun-2`],
    ['by-id', { wwids: [WWID] }, `by-id/scsi-${WWID}`],
  ])('follows the links of %s', async (_name, spec, link) => {
    await using world = await createWorld();
    await rm(world.devices.path('sys/class'), { recursive: true });
    await world.devices.write('dev/sdq', '');
    const path = world.devices.path(`dev/disk/${link}`);
    await mkdir(dirname(path), { recursive: true });
    await symlink('../../sdq', path);
    expect(await attach(world, spec)).toBe(world.devices.path('dev/sdq'));
    await world.devices.write('sys/block/sdq/device/delete', '');
    await detach(world);
    expect(world.devices.ran.at(-1)).toBe(`tee ${world.devices.path('sys/block/sdq/device/delete')}`);
  });

  test('reports the unreachable disk', async () => {
    await using world = await createWorld();
    await expect(attach(world, byPorts)).rejects.toThrow(
      `this node reaches no Fibre Channel disk LUN 2 of ${WWN}, ${OTHER}`,
    );
  });
});
