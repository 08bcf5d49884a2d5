import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { createTempDir } from '../../testing/temp.ts';
import { createMachineReader } from './read-machine.ts';
import { createNameResolver } from './resolve-name.ts';

async function write(base: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(base, path)), { recursive: true });
    await writeFile(join(base, path), text);
  }
}

const none = { nowMs: () => 0, resolve: () => Promise.reject(new Error('no such name')) };

describe('createMachineReader', () => {
  test('reads the machine facts', async () => {
    await using dir = await createTempDir();
    await write(dir.path, {
      'sys/devices/system/cpu/online': '0-3\n',
      'proc/meminfo': 'MemTotal:       1024 kB\n',
      'sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages': '3\n',
      'sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages': '0\n',
      'etc/machine-id': 'abc\n',
      'sys/class/dmi/id/product_uuid': 'uuid-1\n',
      'proc/sys/kernel/random/boot_id': 'boot-1\n',
      'etc/os-release': 'PRETTY_NAME="Test OS 1"\n',
      'sys/module/apparmor/parameters/enabled': 'Y\n',
      'proc/net/route': 'eth7	00000000	01	0003	0	0	5	00000000	0	0	0\n',
    });
    const facts = await createMachineReader(
      { nowMs: () => 0, resolve: () => Promise.resolve(['10.1.1.1']) },
      { rootDir: dir.path, base: dir.path },
    )();
    expect(facts).toMatchObject({
      cores: 4,
      memoryBytes: 1024 * 1024,
      hugePages: [
        { sizeBytes: 2 * 1024 ** 2, count: 3 },
        { sizeBytes: 1024 ** 3, count: 0 },
      ],
      machineID: 'abc',
      systemUUID: 'uuid-1',
      bootID: 'boot-1',
      osImage: 'Test OS 1',
      appArmor: true,
      network: {
        defaultRoutes: [{ interfaceName: 'eth7', family: 'IPv4', metric: 5 }],
        resolved: ['10.1.1.1'],
      },
    });
    expect(facts.rootBytes).toBeGreaterThan(0);
    expect(facts.network.addresses.map(({ address }) => address)).toContain('127.0.0.1');
  });

  test('tolerates missing files', async () => {
    await using dir = await createTempDir();
    await write(dir.path, { 'var/lib/dbus/machine-id': 'dbus\n', 'proc/device-tree/vm,uuid': '' });
    const facts = await createMachineReader(none, { rootDir: join(dir.path, 'no'), base: dir.path })();
    expect(facts).toMatchObject({ machineID: 'dbus', systemUUID: 'dbus', bootID: '', osImage: 'Unknown' });
    expect(facts.hugePages).toEqual([]);
    expect(facts.network.resolved).toEqual([]);
    expect(facts.rootBytes).toBeUndefined();
    expect(facts.cores).toBeGreaterThan(0);
    expect(facts.memoryBytes).toBeGreaterThan(0);
  });

  test('reads IDs from the first configured file with content', async () => {
    await using dir = await createTempDir();
    await write(dir.path, {
      'etc/machine-id': 'usual\n',
      'own/empty': '',
      'own/id': 'custom\n',
      'own/boot': 'b\n',
    });
    const facts = await createMachineReader(none, {
      rootDir: dir.path,
      base: dir.path,
      machineIdFiles: ['/own/no', '/own/empty', '/own/id', '/etc/machine-id'],
      bootIdFiles: ['/own/boot'],
    })();
    expect(facts).toMatchObject({ machineID: 'custom', bootID: 'b' });
  });

  test('reads addresses each time, and the hardware again after five minutes', async () => {
    await using dir = await createTempDir();
    const route = (name: string): string => `${name}\t00000000\t01\t0003\t0\t0\t5\t00000000\t0\t0\t0\n`;
    await write(dir.path, { 'etc/machine-id': 'old\n', 'proc/net/route': route('eth1') });
    let nowMs = 0;
    const read = createMachineReader({ ...none, nowMs: () => nowMs }, { rootDir: dir.path, base: dir.path });
    const seen = async (): Promise<readonly (string | undefined)[]> => {
      const { machineID, network } = await read();
      return [machineID, network.defaultRoutes[0]?.interfaceName];
    };
    expect(await seen()).toEqual(['old', 'eth1']);
    await write(dir.path, { 'etc/machine-id': 'new\n', 'proc/net/route': route('eth2') });
    nowMs = 299_999;
    expect(await seen()).toEqual(['old', 'eth2']);
    nowMs = 300_000;
    expect(await seen()).toEqual(['new', 'eth2']);
  });
});

describe('createNameResolver', () => {
  test('resolves once in five minutes, with a timeout of two seconds', async () => {
    const clock = createFakeClock();
    const asked: PromiseWithResolvers<readonly string[]>[] = [];
    const resolve = createNameResolver(
      {
        clock,
        lookUp: () => {
          const response = Promise.withResolvers<readonly string[]>();
          asked.push(response);
          return response.promise;
        },
      },
      'n1',
    );
    const first = resolve();
    await clock.advance(2000);
    expect(await first).toEqual([]);
    asked[0]?.resolve(['10.0.0.1']);
    expect(await resolve()).toEqual(['10.0.0.1']);
    await clock.advance(290_000);
    expect(await resolve()).toEqual(['10.0.0.1']);
    expect(asked).toHaveLength(1);
    await clock.advance(10_000);
    const again = resolve();
    asked[1]?.reject(new Error('gone'));
    expect(await again).toEqual([]);
  });
});
