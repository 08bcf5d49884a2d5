/** Baseline: the same directories, mounts and files in a bare loop, which assumes an empty directory,
 *  checks nothing and records nothing. */
import { chmod, mkdir, rename, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { MS_NODEV, MS_NOSUID, type Syscalls } from '#volumes/files/syscalls.ts';
import { CONFIG, KEYS } from './pods.ts';

type Files = Readonly<Record<string, string>>;

export interface FloorOptions {
  readonly rootDir: string;
  /** Of a volume in memory. */
  readonly sizeBytes: number;
}

export function createVolumeFloor(syscalls: Syscalls, { rootDir, sizeBytes }: FloorOptions) {
  async function folder(podUID: string, source: string, name: string): Promise<string> {
    const dir = join(rootDir, 'pods', podUID, 'volumes', source, name);
    await mkdir(dir, { recursive: true, mode: 0o750 });
    return dir;
  }

  async function onTmpfs(target: string, data: string, flags: number): Promise<void> {
    await syscalls.mount({ source: 'tmpfs', target, fsType: 'tmpfs', flags, data });
  }

  async function content(dir: string, files: Files): Promise<void> {
    await chmod(dir, 0o755);
    const version = '..2026_01_01_00_00_00.123456789';
    await mkdir(join(dir, version));
    for (const [name, text] of Object.entries(files))
      await writeFile(join(dir, version, name), text, { mode: 0o644 });
    await symlink(version, join(dir, '..data_tmp'));
    await rename(join(dir, '..data_tmp'), join(dir, '..data'));
    for (const name of Object.keys(files)) await symlink(`..data/${name}`, join(dir, name));
  }

  const inMemory = (dir: string): Promise<void> => onTmpfs(dir, 'mode=0755,noswap', MS_NOSUID | MS_NODEV);

  const volumes: readonly ((podUID: string) => Promise<void>)[] = [
    async (podUID) => content(await folder(podUID, 'x~configmap', 'config'), CONFIG),
    async (podUID) => {
      const dir = await folder(podUID, 'x~secret', 'keys');
      await inMemory(dir);
      await content(dir, KEYS);
    },
    async (podUID) => chmod(await folder(podUID, 'x~empty-dir', 'scratch'), 0o777),
    async (podUID) =>
      onTmpfs(await folder(podUID, 'x~empty-dir', 'memory'), `mode=0777,size=${sizeBytes}`, 0),
    async (podUID) => {
      const dir = await folder(podUID, 'x~projected', 'all');
      await inMemory(dir);
      await content(dir, { ...CONFIG, ...KEYS, name: podUID });
    },
  ];

  return {
    /** Everything of one pod. */
    mountPod: async (podUID: string): Promise<void> => {
      await Promise.all(volumes.map((mount) => mount(podUID)));
    },
  };
}
