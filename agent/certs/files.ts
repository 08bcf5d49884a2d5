/** Key and certificate files: readable by root only, each change atomic and durable. A partial write is in a
 *  file ending in `.new`, which the next change of the same file overwrites. */

import { link, mkdir, open, readdir, readlink, rename, rm, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { hasCode } from '#api/kit/errno.ts';
import { readSmallFile } from '../api-client/credentials/load.ts';

export interface CertificateFiles {
  /** `undefined` if the file does not exist. */
  read(path: string): Promise<string | undefined>;
  write(path: string, text: string): Promise<void>;
  /** As `write`, unless the file exists. @returns whether it was created */
  create(path: string, text: string): Promise<boolean>;
  /** Creates a symbolic link to a sibling, or changes its target. */
  point(path: string, target: string): Promise<void>;
  /** Target of a symbolic link; `undefined` for anything else. */
  target(path: string): Promise<string | undefined>;
  remove(path: string): Promise<void>;
  /** Names in a directory; empty if it does not exist. */
  list(folder: string): Promise<readonly string[]>;
}

async function unless<T, U>(codes: readonly string[], work: Promise<T>, otherwise: U): Promise<T | U> {
  try {
    return await work;
  } catch (thrown) {
    if (hasCode(thrown, ...codes)) return otherwise;
    throw thrown;
  }
}

async function syncFolder(path: string): Promise<void> {
  await using folder = await open(dirname(path));
  await folder.sync();
}

/** Writes the text to the temporary name of a file. */
async function writeNew(path: string, text: string): Promise<string> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const temporary = `${path}.new`;
  await rm(temporary, { force: true });
  await using handle = await open(temporary, 'wx', 0o600);
  await handle.chmod(0o600);
  await handle.writeFile(text);
  await handle.sync();
  return temporary;
}

export const certificateFiles: CertificateFiles = {
  read: (path) => unless(['ENOENT', 'ENOTDIR'], readSmallFile(path), undefined),
  async write(path, text) {
    await rename(await writeNew(path, text), path);
    await syncFolder(path);
  },
  async create(path, text) {
    const temporary = await writeNew(path, text);
    const made = await unless(
      ['EEXIST'],
      link(temporary, path).then(() => true),
      false,
    );
    await rm(temporary, { force: true });
    await syncFolder(path);
    return made;
  },
  async point(path, target) {
    const temporary = `${path}.new`;
    await rm(temporary, { force: true });
    await symlink(target, temporary);
    await rename(temporary, path);
    await syncFolder(path);
  },
  target: (path) => unless(['ENOENT', 'EINVAL', 'ENOTDIR'], readlink(path), undefined),
  async remove(path) {
    await rm(path, { force: true });
    await syncFolder(path);
  },
  list: (folder) => unless(['ENOENT'], readdir(join(folder, '.')), []),
};
