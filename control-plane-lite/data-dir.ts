/** The folder of a server's data. */
import { asError } from '#api/kit/clock.ts';
import { makeFolder } from '#api/kit/make-folder.ts';
import { ConfigError } from './config/parse.ts';

const PRIVATE_FOLDER = 0o700;

/** Creates the folder with the folders above it, where it does not exist yet.
 *  @throws ConfigError that says why it cannot be created */
export async function makeDataDir(dir: string): Promise<void> {
  try {
    await makeFolder(dir, PRIVATE_FOLDER);
  } catch (thrown) {
    throw new ConfigError([`--data-dir ${dir} cannot be made: ${asError(thrown).message}`]);
  }
}
