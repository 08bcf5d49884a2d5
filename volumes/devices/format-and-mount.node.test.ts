import { open, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '#api/kit/clock.ts';
import { eventually } from '../../testing/wait.ts';
import { createTestDisks, type TestDisks } from './disk.fixture.ts';
import { type DeviceMount, formatAndMount } from './format-and-mount.ts';
import { findLoops } from './loop.ts';
import { waitForPartition } from './partition.ts';
import { probeDevice } from './probe.ts';

const { signal } = new AbortController();
/** The smallest working disk of each file system, in MiB. */
const SIZES = { ext2: 32, ext3: 32, ext4: 32, xfs: 320, btrfs: 128 };

let disks: TestDisks;
let count = 0;
beforeAll(async () => {
  disks = await createTestDisks();
});
afterAll(() => disks[Symbol.asyncDispose]());

const folder = (): Promise<string> => disks.folder(`at-${(count += 1)}`);
const wanted = (device: string, target: string, more: Partial<DeviceMount> = {}): DeviceMount => ({
  device,
  target,
  fsType: 'ext4',
  readOnly: false,
  mountOptions: [],
  ...more,
});
const unmount = (target: string): Promise<void> => disks.unmount(target);
const mountAt = async (target: string) =>
  (await disks.deps.mounter.list()).findLast(({ mountPoint }) => mountPoint === target);

async function write(device: string, position: number, bytes: Uint8Array): Promise<void> {
  await using handle = await open(device, 'r+');
  await handle.write(bytes, 0, bytes.length, position);
  await handle.sync();
}

describe('formatAndMount', () => {
  test.each(Object.entries(SIZES))(
    'formats an empty disk with %s, and preserves what is written',
    async (fsType, size) => {
      await using disk = await disks.disk(size);
      const target = await folder();
      const mount = wanted(disk.device, target, { fsType });
      await formatAndMount(disks.deps, mount, signal);
      expect(await mountAt(target)).toMatchObject({ fsType });
      await writeFile(join(target, 'kept'), fsType);
      // Neither a repetition nor a second mount changes anything.
      await formatAndMount(disks.deps, mount, signal);
      await unmount(target);
      await formatAndMount(disks.deps, { ...mount, readOnly: true }, signal);
      expect(await readFile(join(target, 'kept'), 'utf8')).toBe(fsType);
      await expect(writeFile(join(target, 'more'), '')).rejects.toThrow('EROFS');
      await unmount(target);
    },
  );

  test('passes flags and options of the volume to the mount', async () => {
    await using disk = await disks.disk(SIZES.ext4);
    const target = await folder();
    const mountOptions = ['nosuid,noatime', 'commit=17'];
    await formatAndMount(disks.deps, wanted(disk.device, target, { fsType: '', mountOptions }), signal);
    const found = await mountAt(target);
    expect(found?.options).toEqual(expect.arrayContaining(['rw', 'nosuid', 'noatime']));
    expect(found?.superOptions).toContain('commit=17');
    await unmount(target);
    const bad = wanted(disk.device, target, { mountOptions: ['no-such-option'] });
    await expect(formatAndMount(disks.deps, bad, signal)).rejects.toThrow(
      `failed to mount ${disk.device} as ext4: EINVAL (unknown mount option`,
    );
  });

  test('formats neither read-only volumes nor devices with content', async () => {
    await using disk = await disks.disk(SIZES.ext4);
    const target = await folder();
    const mount = wanted(disk.device, target);
    const refused = async (more: Partial<DeviceMount>, text: string): Promise<void> =>
      expect(formatAndMount(disks.deps, { ...mount, ...more }, signal)).rejects.toThrow(text);
    await refused({ readOnly: true }, 'because the volume is read-only');
    await refused({ mountOptions: ['ro'] }, 'because the volume is read-only');
    await refused({ fsType: '../../tmp/x' }, 'is not a file system name');
    await refused({ mountOptions: ['bind'] }, 'is not allowed for a volume');
    // An unrecognized byte at the start or at the end.
    const MIB = 1024 * 1024;
    for (const position of [0, 512 * 1024, SIZES.ext4 * MIB - 1]) {
      await write(disk.device, position, Uint8Array.of(1));
      await refused({}, 'unrecognized data on it: refusing to format it');
      await write(disk.device, position, Uint8Array.of(0));
    }
    expect(await probeDevice(disks.deps, disk.device, signal)).toEqual({ kind: 'empty' });
  });

  test.each<[string, string, readonly string[], string]>([
    [
      'a partition table',
      'sfdisk',
      ['--quiet', '--no-reread', '--no-tell-kernel'],
      'a partition table (gpt)',
    ],
    ['swap', 'mkswap', [], 'swap'],
  ])('takes %s for what it is', async (_, program, args, text) => {
    await using disk = await disks.disk(SIZES.ext4);
    await disks.run(program, [...args, disk.device], 'label: gpt\n,,\n');
    const failed = formatAndMount(disks.deps, wanted(disk.device, await folder()), signal);
    await expect(failed).rejects.toThrow(text);
  });

  test.each([
    ['LVM', 0x200, 'LABELONE\u0001\0\0\0\0\0\0\0', undefined],
    ['LUKS', 0, 'LUKS\u00ba\u00be\0\u0001', 'crypto_LUKS'],
  ])('does not format over %s', async (_, position, mark, text) => {
    await using disk = await disks.disk(SIZES.ext4);
    await write(disk.device, position, Buffer.from(mark, 'latin1'));
    const failed = formatAndMount(disks.deps, wanted(disk.device, await folder()), signal);
    await expect(failed).rejects.toThrow(text ?? 'refusing to format it');
  });

  test('reports both file systems if another one exists', async () => {
    await using disk = await disks.disk(SIZES.btrfs);
    const target = await folder();
    await disks.run('mkfs.btrfs', [disk.device]);
    await expect(formatAndMount(disks.deps, wanted(disk.device, target), signal)).rejects.toThrow(
      `${disk.device} has the file system btrfs, but ext4 is requested`,
    );
  });

  test('restarts an interrupted formatting', async () => {
    await using disk = await disks.disk(SIZES.xfs);
    const target = await folder();
    await disks.run('mkfs.xfs', [disk.device]);
    // The mark that mkfs.xfs removes last.
    await write(disk.device, 126, Uint8Array.of(1));
    expect(await probeDevice(disks.deps, disk.device, signal)).toEqual({ kind: 'unfinished', fsType: 'xfs' });
    await formatAndMount(disks.deps, wanted(disk.device, target, { fsType: 'xfs' }), signal);
    await unmount(target);
    await disks.run('mkfs.btrfs', ['-f', disk.device]);
    await write(disk.device, 65_536 + 64, Buffer.from('!'));
    expect(await probeDevice(disks.deps, disk.device, signal)).toEqual({
      kind: 'unfinished',
      fsType: 'btrfs',
    });
    await formatAndMount(disks.deps, wanted(disk.device, target, { fsType: 'btrfs' }), signal);
    await unmount(target);
  });

  test('restarts an interrupted formatting known only from its record', async () => {
    await using disk = await disks.disk(SIZES.ext4);
    const target = await folder();
    const calls: string[] = [];
    const progress = {
      hasStarted: false,
      begin: async () => void calls.push('begin'),
      end: async () => void calls.push('end'),
    };
    // Left behind by an interrupted mkfs.btrfs.
    await write(disk.device, 8192, Uint8Array.of(2, 0x80));
    const mount = wanted(disk.device, target, { progress });
    await expect(formatAndMount(disks.deps, mount, signal)).rejects.toThrow('unrecognized data');
    expect(calls).toEqual([]);
    await formatAndMount(disks.deps, { ...mount, progress: { ...progress, hasStarted: true } }, signal);
    expect(calls).toEqual(['begin', 'end']);
    await unmount(target);
    await formatAndMount(disks.deps, { ...mount, progress: { ...progress, hasStarted: true } }, signal);
    expect(calls).toEqual(['begin', 'end', 'end']);
    await unmount(target);
  });

  test('repairs what can be repaired automatically, and nothing else', async () => {
    await using disk = await disks.disk(SIZES.ext4);
    const target = await folder();
    const mount = wanted(disk.device, target);
    await formatAndMount(disks.deps, mount, signal);
    await writeFile(join(target, 'kept'), 'x');
    await unmount(target);
    // Marks the file system as having errors and not cleanly unmounted: repaired automatically.
    await disks.run('debugfs', ['-w', '-R', 'ssv state 2', disk.device]);
    await formatAndMount(disks.deps, mount, signal);
    await unmount(target);
    const { stdout } = await disks.run('dumpe2fs', ['-h', disk.device]);
    expect(stdout).toMatch(/Filesystem state: +clean\n/);
    // A root that is not a directory needs manual repair.
    await disks.run('debugfs', ['-w', '-R', 'sif <2> mode 0100644', disk.device]);
    await disks.run('debugfs', ['-w', '-R', 'ssv state 2', disk.device]);
    await expect(formatAndMount(disks.deps, mount, signal)).rejects.toThrow(
      `${disk.device} has errors that need manual repair: fsck exited with code 4`,
    );
  });

  test('does not mount over an existing mount', async () => {
    await using one = await disks.disk(SIZES.ext4);
    await using other = await disks.disk(SIZES.ext4);
    const target = await folder();
    await formatAndMount(disks.deps, wanted(one.device, target), signal);
    await expect(formatAndMount(disks.deps, wanted(other.device, target), signal)).rejects.toThrow(
      `${target} has ${one.device} mounted on it instead of ${other.device}`,
    );
    await unmount(target);
  });

  test('mounts a partition', async () => {
    await using disk = await disks.disk(64, { partitions: true });
    const { paths } = disks.deps;
    const clock = systemClock;
    const waiting = waitForPartition({ clock, paths }, disk.device, 2, signal);
    await disks.run('sfdisk', ['--quiet', disk.device], 'label: gpt\n,20MiB\n,\n');
    // For kernels that do not read partition tables themselves.
    await disks.run('partx', ['--update', disk.device]);
    const partition = await waiting;
    expect(partition).toBe(`${disk.device}p2`);
    expect(await waitForPartition({ clock, paths }, disk.device, 0, signal)).toBe(disk.device);
    const target = await folder();
    await formatAndMount(disks.deps, wanted(partition, target), signal);
    expect((await mountAt(target))?.source).toBe(partition);
    await unmount(target);
  });

  test('mounts a write-protected device read-only', async () => {
    await using disk = await disks.disk(SIZES.ext4);
    const target = await folder();
    await disks.run('mkfs.ext4', ['-q', disk.device]);
    await disks.run('blockdev', ['--setro', disk.device]);
    await formatAndMount(disks.deps, wanted(disk.device, target), signal);
    expect((await mountAt(target))?.options).toContain('ro');
    await unmount(target);
    await disks.run('blockdev', ['--setrw', disk.device]);
  });

  test('reports a file system unknown to the kernel', async () => {
    await using disk = await disks.disk(SIZES.ext4);
    const failed = formatAndMount(
      disks.deps,
      wanted(disk.device, await folder(), { fsType: 'nosuch' }),
      signal,
    );
    await expect(failed).rejects.toThrow('the program mkfs.nosuch is not installed on this node');
  });
});

describe('findLoops', () => {
  test('finds the devices of a file, and none for a file without devices', async () => {
    const disk = await disks.disk(1);
    expect(await findLoops(disks.deps.paths, disk.file)).toEqual([disk.device]);
    await disk.detach();
    await disk.detach();
    // Programs that scan all devices may hold it for a moment.
    await eventually(async () => (await findLoops(disks.deps.paths, disk.file)).length === 0);
    expect((await stat(disk.file)).size).toBe(1024 * 1024);
  });
});
