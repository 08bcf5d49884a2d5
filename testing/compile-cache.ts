/** What Node has compiled once, for every program that the tests start: as the unit that is installed has it, and
 *  a start takes a third of the processor time. */
import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';

const REPOSITORY = resolve(import.meta.dirname, '..');

export const COMPILE_CACHE: Readonly<Record<string, string>> = {
  NODE_COMPILE_CACHE: resolve(REPOSITORY, '.cache', 'compiled'),
};

/** Loads the agent once without running it. The program that finds the cache empty writes it when it ends, and some
 *  tests measure how long that takes. */
export async function fillCompileCache(): Promise<void> {
  const script = `await import(${JSON.stringify(resolve(REPOSITORY, 'agent/main.ts'))})`;
  await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script], {
    env: { ...process.env, ...COMPILE_CACHE },
  });
}
