/** Finds the file in which a log continues after one was read to its end. */
import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { LogFileError, type OpenFile, openRegularFile } from './open-log.ts';
import { plainRotatedNames } from './rotation.ts';

async function identityOf(path: string): Promise<string | undefined> {
  try {
    const { dev, ino } = await stat(path);
    return `${dev}:${ino}`;
  } catch {
    return undefined; // renamed or removed since it was listed
  }
}

/** Returns the path after a file: the next rotated one after several rotations, otherwise the current one.
 *  A missing file has been compressed or removed, so all uncompressed ones are newer. */
async function nextPath(path: string, identity: string): Promise<string> {
  const dir = dirname(path);
  const names = plainRotatedNames({ current: basename(path), names: await readdir(dir) });
  const identities = await Promise.all(names.map((name) => identityOf(join(dir, name))));
  const next = names[identities.indexOf(identity) + 1];
  return next === undefined ? path : join(dir, next);
}

/** Opens the file after that of `identity`; undefined while that file is the current one, or the next one
 *  does not exist yet.
 *  @throws {LogFileError} when the next one is not a regular file inside `root` */
export async function openSuccessor(
  path: string,
  identity: string,
  root: string | undefined,
): Promise<OpenFile | undefined> {
  const current = await identityOf(path);
  // Renamed and not created again yet: the runtime still writes to the old file.
  if (current === undefined || current === identity) return undefined;
  try {
    return await openRegularFile(await nextPath(path, identity), root);
  } catch (thrown) {
    // Rotated again between listing and opening: the directory watch reports it.
    if (thrown instanceof LogFileError && thrown.reason === 'NotFound') return undefined;
    throw thrown;
  }
}

/** Returns the newest uncompressed rotated file; undefined if there is none. */
export async function newestRotated(path: string): Promise<string | undefined> {
  const dir = dirname(path);
  const names = await readdir(dir).catch((): readonly string[] => []);
  const newest = plainRotatedNames({ current: basename(path), names }).at(-1);
  return newest === undefined ? undefined : join(dir, newest);
}
