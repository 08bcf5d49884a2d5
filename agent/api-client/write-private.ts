/** Replaces a file atomically. */
import { randomBytes } from 'node:crypto';
import { open, realpath, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** Replaces the text of an existing file, if `change` returns another one. Preserves owner and mode, except
 *  that only the owner may read the file; a symbolic link is preserved.
 *  @returns whether it was written */
export async function replaceText(
  path: string,
  change: (text: string) => string | undefined,
): Promise<boolean> {
  const target = await realpath(path);
  await using old = await open(target, 'r');
  const text = await old.readFile('utf8');
  const next = change(text);
  if (next === undefined || next === text) return false;
  const { uid, gid, mode } = await old.stat();
  const temporary = join(dirname(target), `.tmp-${randomBytes(8).toString('hex')}`);
  try {
    await using handle = await open(temporary, 'wx', 0o600);
    await handle.chown(uid, gid);
    await handle.chmod(mode & 0o700);
    await handle.writeFile(next);
    await handle.sync();
    await rename(temporary, target);
  } catch (thrown) {
    await rm(temporary, { force: true });
    throw thrown;
  }
  await using folder = await open(dirname(target), 'r');
  await folder.sync();
  return true;
}
