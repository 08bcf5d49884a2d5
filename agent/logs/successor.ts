/** Finds the file in which a log goes on after the one that was read to its end. */
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

/** The path that follows a file: the next rotated one where several rotations passed, else the current one.
 *  A file that is not there as it was has been compressed or removed, so the plain ones are all newer. */
async function nextPath(path: string, identity: string): Promise<string> {
  const dir = dirname(path);
  const names = plainRotatedNames({ current: basename(path), names: await readdir(dir) });
  const identities = await Promise.all(names.map((name) => identityOf(join(dir, name))));
  const next = names[identities.indexOf(identity) + 1];
  return next === undefined ? path : join(dir, next);
}

/** Opens what comes after the file of `identity`; undefined while that file is the current one, or none is yet.
 * @throws {LogFileError} when the next one is not a plain file inside `root`. */
export async function openSuccessor(
  path: string,
  identity: string,
  root: string | undefined,
): Promise<OpenFile | undefined> {
  const current = await identityOf(path);
  // Renamed away and not there again yet: the runtime still writes to the old file.
  if (current === undefined || current === identity) return undefined;
  try {
    return await openRegularFile(await nextPath(path, identity), root);
  } catch (thrown) {
    // Rotated once more between the look and the opening: the directory tells of it.
    if (thrown instanceof LogFileError && thrown.reason === 'NotFound') return undefined;
    throw thrown;
  }
}

/** Path of the rotated file that was written last and is not compressed; undefined when there is none. */
export async function newestRotated(path: string): Promise<string | undefined> {
  const dir = dirname(path);
  const names = await readdir(dir).catch((): readonly string[] => []);
  const newest = plainRotatedNames({ current: basename(path), names }).at(-1);
  return newest === undefined ? undefined : join(dir, newest);
}
