import { open, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '#api/kit/clock.ts';
import { eventually } from '../../testing/wait.ts';
import { type DeviceMount, formatAndMount } from './format-and-mount.ts';
import { findLoops } from './loop.ts';
import { waitForPartition } from './partition.ts';
import { probeDevice } from './probe.ts';
import { createTestDisks, type TestDisks } from './test-disk.ts';

const { signal } = new AbortController();
/** The smallest disk on which each of them works, in MiB. */
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
    'gives an empty disk %s, and keeps what is written',
    async (fsType, size) => {
      await using disk = await disks.disk(size);
      const target = await folder();
      const mount = wanted(disk.device, target, { fsType });
      await formatAndMount(disks.deps, mount, signal);
      expect(await mountAt(target)).toMatchObject({ fsType });
      await writeFile(join(target, 'kept'), fsType);
      // Again changes nothing; nor does a way from the start.
      await formatAndMount(disks.deps, mount, signal);
      await unmount(target);
      await formatAndMount(disks.deps, { ...mount, readOnly: true }, signal);
      expect(await readFile(join(target, 'kept'), 'utf8')).toBe(fsType);
      await expect(writeFile(join(target, 'more'), '')).rejects.toThrow('EROFS');
      await unmount(target);
    },
  );

  test('gives flags and options of the volume to the mount', async () => {
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
      `${disk.device} could not be mounted as ext4: EINVAL (a mount option that it does not know`,
    );
  });

  test('formats nothing for reading, and nothing that is not empty', async () => {
    await using disk = await disks.disk(SIZES.ext4);
    const target = await folder();
    const mount = wanted(disk.device, target);
    const refused = async (more: Partial<DeviceMount>, text: string): Promise<void> =>
      expect(formatAndMount(disks.deps, { ...mount, ...more }, signal)).rejects.toThrow(text);
    await refused({ readOnly: true }, 'asked for read-only');
    await refused({ mountOptions: ['ro'] }, 'asked for read-only');
    await refused({ fsType: '../../tmp/x' }, 'is no name of a file system');
    await refused({ mountOptions: ['bind'] }, "can't be used with a volume");
    // A byte that nobody recognizes, at the start or at the end.
    const MIB = 1024 * 1024;
    for (const position of [0, 512 * 1024, SIZES.ext4 * MIB - 1]) {
      await write(disk.device, position, Uint8Array.of(1));
      await refused({}, 'data that nobody recognizes on it: it is not formatted');
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
    await expect(failed).rejects.toThrow(text ?? 'it is not formatted');
  });

  test('names both file systems where another is there', async () => {
    await using disk = await disks.disk(SIZES.btrfs);
    const target = await folder();
    await disks.run('mkfs.btrfs', [disk.device]);
    await expect(formatAndMount(disks.deps, wanted(disk.device, target), signal)).rejects.toThrow(
      `${disk.device} has the file system btrfs, but ext4 is asked for`,
    );
  });

  test('makes a file system again whose making was interrupted', async () => {
    await using disk = await disks.disk(SIZES.xfs);
    const target = await folder();
    await disks.run('mkfs.xfs', [disk.device]);
    // The mark that mkfs.xfs takes away last.
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

  test('begins again what was interrupted where nothing tells but what it kept', async () => {
    await using disk = await disks.disk(SIZES.ext4);
    const target = await folder();
    const kept: string[] = [];
    const progress = {
      hasBegun: false,
      begin: async () => void kept.push('begin'),
      end: async () => void kept.push('end'),
    };
    // What such a formatting leaves behind.
    await write(disk.device, 8192, Uint8Array.of(2, 0x80));
    const mount = wanted(disk.device, target, { progress });
    await expect(formatAndMount(disks.deps, mount, signal)).rejects.toThrow('nobody recognizes');
    expect(kept).toEqual([]);
    await formatAndMount(disks.deps, { ...mount, progress: { ...progress, hasBegun: true } }, signal);
    expect(kept).toEqual(['begin', 'end']);
    await unmount(target);
    await formatAndMount(disks.deps, { ...mount, progress: { ...progress, hasBegun: true } }, signal);
    expect(kept).toEqual(['begin', 'end', 'end']);
    await unmount(target);
  });

  test('repairs what can be repaired, and leaves alone what cannot', async () => {
    await using disk = await disks.disk(SIZES.ext4);
    const target = await folder();
    const mount = wanted(disk.device, target);
    await formatAndMount(disks.deps, mount, signal);
    await writeFile(join(target, 'kept'), 'x');
    await unmount(target);
    // Says that it was not unmounted well and has errors: repaired without a question.
    await disks.run('debugfs', ['-w', '-R', 'ssv state 2', disk.device]);
    await formatAndMount(disks.deps, mount, signal);
    await unmount(target);
    const { stdout } = await disks.run('dumpe2fs', ['-h', disk.device]);
    expect(stdout).toMatch(/Filesystem state: +clean\n/);
    // A root that is no directory needs a decision.
    await disks.run('debugfs', ['-w', '-R', 'sif <2> mode 0100644', disk.device]);
    await disks.run('debugfs', ['-w', '-R', 'ssv state 2', disk.device]);
    await expect(formatAndMount(disks.deps, mount, signal)).rejects.toThrow(
      `${disk.device} has errors that could not be repaired without a decision: fsck ended with exit code 4`,
    );
  });

  test('does not cover what is mounted there already', async () => {
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
    // For kernels that read no partition tables themselves.
    await disks.run('partx', ['--update', disk.device]);
    const partition = await waiting;
    expect(partition).toBe(`${disk.device}p2`);
    expect(await waitForPartition({ clock, paths }, disk.device, 0, signal)).toBe(disk.device);
    const target = await folder();
    await formatAndMount(disks.deps, wanted(partition, target), signal);
    expect((await mountAt(target))?.source).toBe(partition);
    await unmount(target);
  });

  test('mounts for reading what cannot be written', async () => {
    await using disk = await disks.disk(SIZES.ext4);
    const target = await folder();
    await disks.run('mkfs.ext4', ['-q', disk.device]);
    await disks.run('blockdev', ['--setro', disk.device]);
    await formatAndMount(disks.deps, wanted(disk.device, target), signal);
    expect((await mountAt(target))?.options).toContain('ro');
    await unmount(target);
    await disks.run('blockdev', ['--setrw', disk.device]);
  });

  test('names what the kernel does not know', async () => {
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
  test('finds the devices of a file, and none of one that has none', async () => {
    const disk = await disks.disk(1);
    expect(await findLoops(disks.deps.paths, disk.file)).toEqual([disk.device]);
    await disk.detach();
    await disk.detach();
    // Whoever looks at all devices may have it for a moment.
    await eventually(async () => (await findLoops(disks.deps.paths, disk.file)).length === 0);
    expect((await stat(disk.file)).size).toBe(1024 * 1024);
  });
});
