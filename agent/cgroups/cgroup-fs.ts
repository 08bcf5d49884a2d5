/** File system operations that cgroups need; replaced in tests. */
import { readdir, readFile, rmdir, stat, writeFile } from 'node:fs/promises';
import { makeOpenFolder } from '#api/kit/files/open-folder.ts';

export interface CgroupFs {
  /** Including parents; idempotent. */
  mkdir(path: string): Promise<void>;
  write(path: string, text: string): Promise<void>;
  read(path: string): Promise<string>;
  /** Names of subdirectories. */
  folders(path: string): Promise<readonly string[]>;
  rmdir(path: string): Promise<void>;
  exists(path: string): Promise<boolean>;
}

export const realFs: CgroupFs = {
  // World-readable whatever the umask, so that anyone can read the usage of a cgroup.
  mkdir: makeOpenFolder,
  write: (path, text) => writeFile(path, text),
  read: (path) => readFile(path, 'utf8'),
  async folders(path) {
    const entries = await readdir(path, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  },
  rmdir: (path) => rmdir(path),
  exists: (path) =>
    stat(path).then(
      () => true,
      () => false,
    ),
};
