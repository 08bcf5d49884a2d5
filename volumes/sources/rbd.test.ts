import { readdir, readFile, rm, stat } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import type { PersistentVolume, RBDPersistentVolumeSource } from '#api/gen/core-v1.ts';
import {
  createTestDevices,
  type FakePrograms,
  never,
  secretOf,
  type TestDevices,
} from '../devices/devices.fixture.ts';
import { MissingProgramError } from '../programs/errors.ts';
import { parseMapped, sameCluster } from '../rbd/devices.ts';
import { createRbd } from './rbd.ts';

const spec: RBDPersistentVolumeSource = {
  monitors: ['10.0.0.1:6789', '10.0.0.2'],
  image: 'web',
  pool: 'fast',
};
const KEY = 'AQDsecret==';

interface World extends AsyncDisposable {
  readonly devices: TestDevices;
  readonly keys: string[];
  attach(wanted?: RBDPersistentVolumeSource): Promise<string>;
  detach(): Promise<void>;
}

interface Cluster {
  /** The kernel has the driver. */
  readonly kernel?: boolean;
  readonly nbd?: boolean;
  readonly watcher?: string;
  readonly volume?: PersistentVolume;
}

async function createWorld({ kernel = true, nbd = false, watcher, volume }: Cluster = {}): Promise<World> {
  const late: { devices?: TestDevices } = {};
  const keys: string[] = [];
  const nbds = new Set<string>();

  async function takeKey(args: readonly string[]): Promise<void> {
    const at = args.indexOf('--keyfile');
    if (at < 0) return;
    const path = args[at + 1] ?? '';
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    keys.push(await readFile(path, 'utf8'));
  }

  const programs: FakePrograms = {
    modprobe: async () =>
      kernel ? undefined : { code: 1, stderr: 'modprobe: FATAL: Module rbd not found.' },
    async rbd([command = '', name = '', ...args]) {
      const { devices } = late;
      await takeKey(args);
      if (command === 'status') {
        return {
          stdout: watcher === undefined ? 'Watchers: none\n' : `Watchers:\n\twatcher=${watcher} client.1\n`,
        };
      }
      if (command === 'unmap') {
        await rm(devices?.path('sys/bus/rbd/devices/7') ?? '', { recursive: true });
        return undefined;
      }
      const [pool = '', image = ''] = name.split('/');
      await devices?.write('sys/bus/rbd/devices/7/pool', `${pool}\n`);
      await devices?.write('sys/bus/rbd/devices/7/name', `${image}\n`);
      await devices?.write(
        'sys/bus/rbd/devices/7/config_info',
        '10.0.0.2:6789 name=admin,key=client.admin fast web -\n',
      );
      await devices?.write('dev/rbd7', '');
      return undefined;
    },
    async 'rbd-nbd'([command = '', name = '', ...args]) {
      if (!nbd) throw new MissingProgramError('rbd-nbd');
      await takeKey(args);
      if (command === 'map') nbds.add(name);
      if (command === 'unmap') nbds.clear();
      if (command !== 'list-mapped') return undefined;
      return {
        stdout: JSON.stringify(
          [...nbds].map((one) => ({
            pool: one.split('/')[0],
            image: one.split('/')[1],
            snap: '-',
            device: '/dev/nbd3',
          })),
        ),
      };
    },
  };
  const devices = await createTestDevices(programs, volume);
  late.devices = devices;
  if (nbd) {
    await devices.write('sys/block/nbd3/size', '0');
    await devices.write('dev/nbd3', '');
  }
  devices.secrets.set('default/ceph', secretOf({ key: KEY, other: 'x' }));
  const plugin = createRbd({ keyFolder: devices.base });
  return {
    devices,
    keys,
    attach: (wanted = spec) => plugin.attach(wanted, devices.services, devices.save, never),
    detach: async () => plugin.detach?.(devices.saved.at(-1) ?? {}, devices.services, never),
    [Symbol.asyncDispose]: () => devices[Symbol.asyncDispose](),
  };
}

describe('identify', () => {
  const plugin = createRbd({ keyFolder: '/run' });

  test('names the volume by its monitors and image', () => {
    expect(plugin.identify({ ...spec, readOnly: true }, 'd.example')).toEqual({
      uniqueName: 'd.example/rbd/[10.0.0.1:6789 10.0.0.2]:web@fast',
      fsType: 'ext4',
      readOnly: true,
    });
  });

  test.each<[Partial<RBDPersistentVolumeSource>, string]>([
    [{ monitors: [] }, 'rbd.monitors: Required value'],
    [{ monitors: ['-k'] }, 'rbd.monitors[0] "-k": must be the address of a monitor'],
    [{ monitors: ['a,b'] }, 'rbd.monitors[0] "a,b"'],
    [{ image: 'web@snap' }, 'rbd.image "web@snap": must be the name of an image only'],
    [{ image: '--option' }, 'rbd.image "--option"'],
    [{ pool: 'a/b' }, 'rbd.pool "a/b"'],
    [{ user: 'a b' }, 'rbd.user "a b"'],
    [{ keyring: '/etc/ceph/../shadow' }, 'rbd.keyring "/etc/ceph/../shadow": must be an absolute path'],
  ])('rejects %j', (fields, message) => {
    expect(() => plugin.identify({ ...spec, ...fields }, 'd.example')).toThrow(message);
  });
});

describe('attach', () => {
  test('maps an image without watchers with the keyring, once, and unmaps it', async () => {
    await using world = await createWorld();
    expect(await world.attach()).toBe(world.devices.path('dev/rbd7'));
    const access = '--id admin -m 10.0.0.1:6789,10.0.0.2 --keyring /etc/ceph/keyring';
    expect(world.devices.ran).toEqual([
      'modprobe rbd',
      `rbd status fast/web ${access}`,
      `rbd map fast/web ${access}`,
    ]);
    expect(world.devices.saved).toEqual([{ pool: 'fast', image: 'web', monitors: '10.0.0.1:6789 10.0.0.2' }]);
    await world.attach();
    expect(world.devices.ran).toHaveLength(3);
    await world.detach();
    expect(world.devices.ran.slice(3)).toEqual([`rbd unmap ${world.devices.path('dev/rbd7')}`]);
    await world.detach();
    expect(world.devices.ran).toHaveLength(4);
  });

  test('passes the key of a secret in a file that is removed afterwards', async () => {
    await using world = await createWorld();
    await world.attach({ ...spec, user: 'web', secretRef: { name: 'ceph', namespace: 'default' } });
    expect(world.keys).toEqual([KEY, KEY]);
    expect(JSON.stringify([world.devices.ran, world.devices.saved])).not.toContain(KEY);
    expect((await readdir(world.devices.base)).toSorted()).toEqual(['dev', 'sys']);
  });

  test('rejects a secret with an ambiguous key', async () => {
    await using world = await createWorld();
    world.devices.secrets.set('default/two', secretOf({ a: 'x', b: 'y' }));
    await expect(world.attach({ ...spec, secretRef: { name: 'two' } })).rejects.toThrow('as its value "key"');
    world.devices.secrets.set('default/one', secretOf({ a: KEY }));
    await world.attach({ ...spec, secretRef: { name: 'one' } });
    expect(world.keys).toEqual([KEY, KEY]);
  });

  test('does not map an image that another node has open, unless all are read-only', async () => {
    const watcher = '10.0.0.9:0/123';
    await using world = await createWorld({ watcher });
    await expect(world.attach()).rejects.toThrow(`image fast/web is still in use by ${watcher}`);
    await using reading = await createWorld({ watcher, volume: { spec: { accessModes: ['ReadOnlyMany'] } } });
    await reading.attach();
    expect(reading.devices.ran.some((line) => line.startsWith('rbd status'))).toBe(false);
    await using both = await createWorld({
      watcher,
      volume: { spec: { accessModes: ['ReadOnlyMany', 'ReadWriteOnce'] } },
    });
    await expect(both.attach()).rejects.toThrow('is still in use');
  });

  test('uses rbd-nbd if the kernel has no driver', async () => {
    await using world = await createWorld({ kernel: false, nbd: true });
    expect(await world.attach()).toBe(world.devices.path('dev/nbd3'));
    await world.detach();
    expect(world.devices.ran).toContain(`rbd-nbd unmap ${world.devices.path('dev/nbd3')}`);
    await using neither = await createWorld({ kernel: false });
    await expect(neither.attach()).rejects.toThrow('neither the kernel nor rbd-nbd can map images of Ceph');
  });
});

describe('mapped images', () => {
  test.each([
    ['10.0.0.1:6789 name=admin fast web -', ['10.0.0.1'], true],
    ['10.0.0.1:6789,10.0.0.2:6789 x', ['10.0.0.2:3300'], true],
    ['10.0.0.3:6789 x', ['10.0.0.1', '10.0.0.2'], false],
    ['[fd00::1]:6789 x', ['[fd00::1]'], true],
    ['10.0.0.3:6789 x', ['ceph.example'], true],
    [undefined, ['10.0.0.1'], true],
  ])('%s may be of %j: %s', (info, monitors, same) => expect(sameCluster(info, monitors)).toBe(same));

  test.each([
    ['', undefined],
    ['{}', undefined],
    ['[{"pool":"fast","image":"web","snap":"one","device":"/dev/nbd0"}]', undefined],
    ['[{"pool":"fast","image":"web","snap":"-","device":"/etc/passwd"}]', undefined],
    ['[1,{"pool":"slow","image":"web"},{"pool":"fast","image":"web","device":"/dev/nbd1"}]', '/dev/nbd1'],
  ])('of %s is %s', (json, device) => expect(parseMapped(json, { pool: 'fast', image: 'web' })).toBe(device));
});
