/** Build cache of the end-to-end tests in .cache/, keyed by the hash of the recipe. */
import { createHash } from 'node:crypto';
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';

const CACHE = resolve(import.meta.dirname, '..', '.cache');

/** Returns the folder `<name>-<hash of the recipe>`; `build` fills it first if it does not exist. */
export async function cachedFolder(
  name: string,
  recipe: unknown,
  build: (folder: string) => Promise<void>,
): Promise<string> {
  const hash = createHash('sha256').update(JSON.stringify(recipe)).digest('hex');
  const folder = join(CACHE, `${name}-${hash.slice(0, 12)}`);
  if (await isFilled(folder)) return folder;
  await mkdir(CACHE, { recursive: true });
  const partial = `${folder}.partial`;
  await rm(partial, { recursive: true, force: true });
  await build(partial);
  await rename(partial, folder);
  return folder;
}

async function isFilled(folder: string): Promise<boolean> {
  try {
    return (await readdir(folder)).length > 0;
  } catch {
    // Not built yet.
    return false;
  }
}
