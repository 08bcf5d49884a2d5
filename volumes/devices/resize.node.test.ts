import { readFile, statfs } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestDisks, type TestDisks } from './disk.fixture.ts';
import { formatAndMount } from './format-and-mount.ts';
import { growFileSystem } from './resize.ts';

const { signal } = new AbortController();
const MIB = 1024 * 1024;

let disks: TestDisks;
beforeAll(async () => {
  disks = await createTestDisks();
});
afterAll(() => disks[Symbol.asyncDispose]());

async function sizeMib(path: string): Promise<number> {
  const { blocks, bsize } = await statfs(path);
  return Math.round((blocks * bsize) / MIB);
}

/** Bit of CAP_SYS_RESOURCE, which the kernel requires for expanding a mounted ext file system. */
const CAP_SYS_RESOURCE = 24n;

async function mayGrowExt(): Promise<boolean> {
  const status = await readFile('/proc/self/status', 'utf8');
  const [, capabilities = '0'] = /^CapEff:\t([0-9a-f]+)$/m.exec(status) ?? [];
  return ((BigInt(`0x${capabilities}`) >> CAP_SYS_RESOURCE) & 1n) === 1n;
}

describe('growFileSystem', () => {
  test.each([
    ['ext2', 32, 64],
    ['ext3', 32, 64],
    ['ext4', 32, 64],
    ['xfs', 320, 400],
    ['btrfs', 128, 256],
  ])('makes %s larger while it is mounted, when its device is', async (fsType, from, to) => {
    await using disk = await disks.disk(from);
    const { device } = disk;
    const target = await disks.folder(fsType);
    await formatAndMount(disks.deps, { device, target, fsType, readOnly: false, mountOptions: [] }, signal);
    const before = await sizeMib(target);
    expect(await growFileSystem(disks.deps, { device, target }, signal)).toBe(false);
    await disk.grow(to);
    const growing = growFileSystem(disks.deps, { device, target }, signal).catch(String);
    const isRefused = fsType.startsWith('ext') && !(await mayGrowExt());
    const grown = await growing;
    const outcome = String(grown).includes('the agent lacks CAP_SYS_RESOURCE') ? 'refused' : grown;
    expect(outcome).toBe(isRefused ? 'refused' : true);
    const after = await sizeMib(target);
    expect(after).toBeGreaterThanOrEqual(isRefused ? before : before + (to - from) * 0.8);
    await disks.deps.mounter.syscalls.unmount(target, 0);
  });

  test('rejects read-only mounts and unmounted devices', async () => {
    await using disk = await disks.disk(32);
    const { device } = disk;
    const target = await disks.folder('ro');
    const growing = { device, target };
    await expect(growFileSystem(disks.deps, growing, signal)).rejects.toThrow('is not mounted');
    await disks.run('mkfs.ext4', ['-q', device]);
    await disk.grow(64);
    const mount = { device, target, fsType: 'ext4', readOnly: true, mountOptions: [] };
    await formatAndMount(disks.deps, mount, signal);
    await expect(growFileSystem(disks.deps, growing, signal)).rejects.toThrow('is mounted read-only');
    await disks.deps.mounter.syscalls.unmount(target, 0);
  });
});
