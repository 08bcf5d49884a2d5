/** Secrets for helper programs that read them from a file: readable only by root, in memory if `/run` is,
 *  and only while the program runs. Never on a command line, which everyone on the node can read. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const FOLDER = '/run';

/** Calls `use` with the path of a file with this content, and removes the file afterwards. */
export async function withSecretFile<T>(
  content: string,
  use: (path: string) => Promise<T>,
  folder: string = FOLDER,
): Promise<T> {
  const own = await mkdtemp(join(folder, 'nodeagent-secret-'));
  try {
    const path = join(own, 'secret');
    await writeFile(path, content, { flag: 'wx', mode: 0o600 });
    return await use(path);
  } finally {
    await rm(own, { recursive: true, force: true });
  }
}
