/** Volumes of the test driver: directories, and disks in files for handles that begin with `loop-`. Uses
 *  the system's own programs, so that the code under test does not verify itself. */
import { execFile } from 'node:child_process';
import { mkdir, open, readFile, rm, stat, statfs, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type {
  NodePublishVolumeRequest,
  NodeStageVolumeRequest,
  VolumeCapabilityMountVolume,
} from '#cri/gen/csi-v1.ts';

const run = promisify(execFile);

/** Smallest size that all tested file systems accept. */
const DISK_BYTES = 128 * 2 ** 20;
const isDisk = (handle: string): boolean => handle.startsWith('loop-');

/** The mount table shows this path without escapes. */
async function isMounted(path: string): Promise<boolean> {
  const table = await readFile('/proc/self/mountinfo', 'utf8');
  return table.split('\n').some((line) => line.split(' ')[4] === path);
}

async function unmount(path: string): Promise<void> {
  while (await isMounted(path)) await run('umount', [path]);
}

export interface DriverVolumes {
  stage(request: NodeStageVolumeRequest): Promise<void>;
  unstage(handle: string, path: string): Promise<void>;
  publish(request: NodePublishVolumeRequest): Promise<void>;
  unpublish(path: string): Promise<void>;
  usage(path: string): Promise<{ readonly bytes: readonly bigint[]; readonly inodes: readonly bigint[] }>;
  /** For btrfs and raw devices: not every root user may expand other file systems. */
  expand(handle: string, path: string, bytes: bigint): Promise<void>;
}

export function createDriverVolumes(dataDir: string): DriverVolumes {
  const fileOf = (handle: string): string => join(dataDir, `${handle}.img`);
  const folderOf = (handle: string): string => join(dataDir, 'volumes', handle);

  async function deviceOf(handle: string): Promise<string | undefined> {
    const { stdout } = await run('losetup', ['-j', fileOf(handle), '-n', '-O', 'NAME']);
    return stdout.trim().split('\n')[0] || undefined;
  }

  async function attach(handle: string): Promise<string> {
    const there = await deviceOf(handle);
    if (there !== undefined) return there;
    const isNew = (await stat(fileOf(handle)).catch(() => undefined)) === undefined;
    if (isNew) {
      await (await open(fileOf(handle), 'w')).close();
      await truncate(fileOf(handle), DISK_BYTES);
    }
    const { stdout } = await run('losetup', ['--find', '--show', fileOf(handle)]);
    return stdout.trim();
  }

  async function mountDisk(
    handle: string,
    path: string,
    { fsType, mountFlags: options }: VolumeCapabilityMountVolume,
  ): Promise<void> {
    const device = await attach(handle);
    const { stdout } = await run('blkid', ['-o', 'value', '-s', 'TYPE', device]).catch(() => ({
      stdout: '',
    }));
    if (stdout.trim() === '') await run(`mkfs.${fsType === '' ? 'ext4' : fsType}`, ['-q', device]);
    await run('mount', [...(options.length === 0 ? [] : ['-o', options.join(',')]), device, path]);
  }

  async function bind(from: string, to: string, readonly: boolean): Promise<void> {
    await run('mount', ['--bind', from, to]);
    if (readonly) await run('mount', ['-o', 'remount,bind,ro', to]);
  }

  async function publishDevice(handle: string, target: string): Promise<void> {
    await (await open(target, 'a')).close();
    await bind(await attach(handle), target, false);
  }

  return {
    async stage({ volumeId, stagingTargetPath, volumeCapability }) {
      if (volumeCapability?.block !== undefined) return void (await attach(volumeId));
      if (await isMounted(stagingTargetPath)) return;
      const { mount } = volumeCapability ?? {};
      if (isDisk(volumeId) && mount !== undefined) return mountDisk(volumeId, stagingTargetPath, mount);
      await mkdir(folderOf(volumeId), { recursive: true });
      await bind(folderOf(volumeId), stagingTargetPath, false);
    },
    async unstage(handle, path) {
      await unmount(path);
      const device = await deviceOf(handle);
      if (device !== undefined) await run('losetup', ['-d', device]);
    },
    async publish({ volumeId, stagingTargetPath, targetPath, readonly, volumeCapability }) {
      if (await isMounted(targetPath)) return;
      if (volumeCapability?.block !== undefined) return publishDevice(volumeId, targetPath);
      await mkdir(targetPath, { recursive: true });
      if (stagingTargetPath !== '') return bind(stagingTargetPath, targetPath, readonly);
      await mkdir(folderOf(volumeId), { recursive: true });
      await bind(folderOf(volumeId), targetPath, readonly);
    },
    async unpublish(path) {
      await unmount(path);
      await rm(path, { recursive: true, force: true });
    },
    async usage(path) {
      const { bsize, blocks, bavail, bfree, files, ffree } = await statfs(path, { bigint: true });
      return {
        bytes: [bavail * bsize, blocks * bsize, (blocks - bfree) * bsize],
        inodes: [ffree, files, files - ffree],
      };
    },
    async expand(handle, path, bytes) {
      if (!isDisk(handle)) return;
      await truncate(fileOf(handle), Number(bytes));
      const device = await attach(handle);
      await run('losetup', ['-c', device]);
      if ((await stat(path)).isDirectory()) await run('btrfs', ['filesystem', 'resize', 'max', path]);
    },
  };
}
