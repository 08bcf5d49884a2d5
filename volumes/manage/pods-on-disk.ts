/** UIDs of pods whose directory still exists, for whatever reason. */
import { readdir } from 'node:fs/promises';
import { errorCode } from '#api/kit/errno.ts';
import { podsDir } from '../files/layout.ts';

/** Returns the UIDs. @throws the system's error, unless the directory does not exist yet */
export async function podsOnDisk(rootDir: string): Promise<readonly string[]> {
  try {
    const entries = await readdir(podsDir(rootDir), { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  } catch (thrown) {
    if (errorCode(thrown) === 'ENOENT') return [];
    throw thrown;
  }
}
