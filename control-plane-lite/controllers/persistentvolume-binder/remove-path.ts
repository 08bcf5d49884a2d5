/** Removal of a directory beneath /tmp that any user may write to: no link is followed, neither on the way nor inside. */
import { constants } from 'node:fs';
import { type FileHandle, open, readdir, rmdir, unlink } from 'node:fs/promises';
import { hasCode } from '#api/kit/errno.ts';

const FLAGS = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
/** Deeper trees are reported instead of removed. */
const DEEPEST = 256;

const at = ({ fd }: FileHandle, name: string): string => `/proc/self/fd/${fd}/${name}`;

async function removeEntry(dir: FileHandle, name: string, depth: number): Promise<void> {
  if (depth > DEEPEST) throw new Error(`${JSON.stringify(name)} is nested too deeply`);
  try {
    await unlink(at(dir, name));
    return;
  } catch (thrown) {
    if (hasCode(thrown, 'ENOENT')) return;
    if (!hasCode(thrown, 'EISDIR', 'EPERM')) throw thrown;
  }
  {
    await using child = await open(at(dir, name), FLAGS);
    for (const entry of await readdir(at(child, '.'))) await removeEntry(child, entry, depth + 1);
  }
  await rmdir(at(dir, name));
}

/** Removes the file or directory with its content; succeeds if it does not exist.
 *  @param path absolute, without `.` and `..`
 *  @throws the system's error, such as `ENOTDIR` or `ELOOP` for a link on the way */
export async function removePath(path: string): Promise<void> {
  const parts = path.split('/').filter((part) => part !== '');
  const name = parts.pop();
  if (name === undefined) throw new Error(`${path} is not the path of a directory`);
  let dir = await open('/', FLAGS);
  try {
    for (const part of parts) {
      const next = await open(at(dir, part), FLAGS);
      await dir.close();
      dir = next;
    }
    await removeEntry(dir, name, 0);
  } catch (thrown) {
    if (!hasCode(thrown, 'ENOENT')) throw thrown;
  } finally {
    await dir.close();
  }
}
