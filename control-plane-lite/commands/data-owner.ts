/** Owner of the data directory: commands that root runs leave files that the server's user can use. */
import { chown, lstat, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { hasCode } from '#api/kit/errno.ts';

interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/** Returns the owner of the nearest existing folder; undefined for root, or if this process is not root. */
export async function dataOwner(dir: string): Promise<Owner | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  try {
    const { uid, gid } = await lstat(dir);
    return uid === 0 ? undefined : { uid, gid };
  } catch (thrown) {
    if (!hasCode(thrown, 'ENOENT') || dirname(dir) === dir) throw thrown;
    return dataOwner(dirname(dir));
  }
}

/** Continues as the owner of the folder: a command for files in it neither creates files of root nor follows
 *  a link of that user as root. */
export async function becomeOwner(dir: string): Promise<void> {
  const owner = await dataOwner(dir);
  if (owner === undefined) return;
  process.setgroups?.([]);
  process.setgid?.(owner.gid);
  process.setuid?.(owner.uid);
}

/** Gives a folder and everything in it to the owner. Follows no links. */
export async function giveTo(owner: Owner, path: string): Promise<void> {
  const entry = await lstat(path);
  if (entry.isSymbolicLink()) return;
  await chown(path, owner.uid, owner.gid);
  if (!entry.isDirectory()) return;
  for (const name of await readdir(path)) await giveTo(owner, join(path, name));
}
