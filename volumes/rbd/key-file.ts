/** Keys for programs that take them from a file: arguments are for everybody on the node to read. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Does the work with the path of a file that only root can read, and that is gone afterwards.
 *  @param folder in memory, such as `/run` */
export async function withKeyFile<T>(
  folder: string,
  key: string,
  work: (path: string) => Promise<T>,
): Promise<T> {
  const own = await mkdtemp(join(folder, 'nodeagent-key-'));
  try {
    const path = join(own, 'key');
    await writeFile(path, key, { mode: 0o600, flag: 'wx' });
    return await work(path);
  } finally {
    await rm(own, { recursive: true, force: true });
  }
}
