/** Creates a directory and its parents. If the kernel cannot create it, as below `/proc`, this fails at
 *  once, while Node's own recursive call retries forever. */

import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { errorCode, hasCode } from '../errno.ts';

/** @throws the system's error; EEXIST if something else exists there */
export async function createDir(path: string, mode: number): Promise<void> {
  try {
    await mkdir(path, { mode });
  } catch (thrown) {
    const code = errorCode(thrown);
    // On a read-only disk, creating an existing directory fails with EROFS.
    if (code === 'EEXIST' || code === 'EROFS') {
      if ((await stat(path).catch(() => undefined))?.isDirectory() === true) return;
      throw thrown;
    }
    const above = dirname(path);
    if (code !== 'ENOENT' || above === path) throw thrown;
    await createDir(above, mode);
    // Still ENOENT: the parent accepts no directories.
    await mkdir(path, { mode }).catch((second: unknown) => {
      if (!hasCode(second, 'EEXIST')) throw second;
    });
  }
}
