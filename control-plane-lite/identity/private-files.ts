/** Files that only root may read. */

import { open, readFile, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { hasCode } from '#api/kit/errno.ts';

/** Returns the text of a file; `undefined` if it doesn't exist. */
export async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (thrown) {
    if (hasCode(thrown, 'ENOENT')) return undefined;
    throw thrown;
  }
}

/** Writes a file atomically, and never readable by others. */
export async function writePrivate(file: string, text: string): Promise<void> {
  const temporary = `${file}.new`;
  {
    await using handle = await open(temporary, 'w', 0o600);
    await handle.chmod(0o600);
    await handle.writeFile(text);
    await handle.sync();
  }
  await rename(temporary, file);
  await using folder = await open(dirname(file));
  await folder.sync();
}
