/** Key files for programs: everyone on the node can read arguments. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Calls `use` with the path of a temporary file that only root can read.
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
