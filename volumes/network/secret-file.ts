/** Secrets for helper programs that read them from a file: for root alone, in memory where `/run` is, and only as
 *  long as the program runs. Never on a command line, where everybody on the node could read them. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const FOLDER = '/run';

/** Hands the path of a file with this content to `use`, and removes the file when that is done. */
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
