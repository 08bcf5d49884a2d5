/** Program files for tests: from the run's bundle, or the source if no bundle was built. */
import { dirname, join, resolve } from 'node:path';

const REPOSITORY = resolve(import.meta.dirname, '..');

/** Directory of the bundle, for the processes of the run. */
export const PROGRAMS_VARIABLE = 'NODEAGENT_TEST_PROGRAMS';

/** Compile cache of the bundle and of other programs that the tests start. */
export const compiledBeside = (programs: string): string => join(dirname(programs), 'compiled');

/** @param name of the entry of the bundle
 *  @param source relative to the repository */
export function testProgram(name: string, source: string): string {
  const folder = process.env[PROGRAMS_VARIABLE];
  return folder === undefined ? join(REPOSITORY, source) : join(folder, `${name}.js`);
}
