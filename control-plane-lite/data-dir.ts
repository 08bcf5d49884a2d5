/** The server's data directory. */
import { asError } from '#api/kit/errno.ts';
import { createDir } from '#api/kit/files/create-dir.ts';
import { ConfigError } from './config/parse.ts';

const PRIVATE_FOLDER = 0o700;

/** Creates the folder with its parents if it does not exist.
 *  @throws ConfigError with the reason */
export async function makeDataDir(dir: string): Promise<void> {
  try {
    await createDir(dir, PRIVATE_FOLDER);
  } catch (thrown) {
    throw new ConfigError([`--data-dir ${dir} cannot be created: ${asError(thrown).message}`]);
  }
}
