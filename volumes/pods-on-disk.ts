/** Pods that still have a folder, whoever of its owners it is kept for. */
import { readdir } from 'node:fs/promises';
import { podsDir } from './layout.ts';
import { errorCode } from './setup-error.ts';

/** Their UIDs. @throws the system's error, unless there is no such folder yet */
export async function podsOnDisk(rootDir: string): Promise<readonly string[]> {
  try {
    const entries = await readdir(podsDir(rootDir), { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  } catch (thrown) {
    if (errorCode(thrown) === 'ENOENT') return [];
    throw thrown;
  }
}
