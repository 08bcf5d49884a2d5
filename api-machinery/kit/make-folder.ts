/** Makes a folder with the folders above it. Where the kernel makes none, as below `/proc`, this fails at once, while
 *  Node's own recursive call tries for ever. */
import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

const codeOf = (thrown: unknown): unknown =>
  thrown instanceof Error && 'code' in thrown ? thrown.code : undefined;

/** @throws the system's error; EEXIST where something else is there */
export async function makeFolder(path: string, mode: number): Promise<void> {
  try {
    await mkdir(path, { mode });
  } catch (thrown) {
    const code = codeOf(thrown);
    // On a read-only disk, a folder that is there is reported as one that may not be made.
    if (code === 'EEXIST' || code === 'EROFS') {
      if ((await stat(path).catch(() => undefined))?.isDirectory() === true) return;
      throw thrown;
    }
    const above = dirname(path);
    if (code !== 'ENOENT' || above === path) throw thrown;
    await makeFolder(above, mode);
    // Still ENOENT: the folder above takes none.
    await mkdir(path, { mode }).catch((second: unknown) => {
      if (codeOf(second) !== 'EEXIST') throw second;
    });
  }
}
