/** Preparation of programs that tests start by the hundred, as they are shipped: a bundle takes less than
 *  half of the CPU time of its sources to start. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { BUNDLE_ENTRIES, bundle, PLANE_ENTRIES } from '../scripts/bundle.ts';
import { compiledBeside, PROGRAMS_VARIABLE } from './programs.ts';

/** Parts of the programs that can be loaded without running. */
const PARTS: Readonly<Record<string, string>> = {
  'agent-part': 'agent/main.ts',
  'plane-part': 'control-plane-lite/run.ts',
};

/** Creates the bundle and its compile cache in the directory, and sets them in the environment of this
 *  process, which the test processes inherit. A program without a compile cache would write it at its
 *  exit, and some tests measure how long that takes, so it is created here. */
export async function prepareTestPrograms(folder: string): Promise<void> {
  const programs = join(folder, 'programs');
  await bundle(programs, {
    ...BUNDLE_ENTRIES,
    ...PLANE_ENTRIES,
    ...PARTS,
    'agent-process': 'testing/agent-process.ts',
  });
  process.env[PROGRAMS_VARIABLE] = programs;
  const loads = Object.keys(PARTS).map(
    (name) => `await import(${JSON.stringify(join(programs, `${name}.js`))});`,
  );
  await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', loads.join('\n')], {
    env: { ...process.env, NODE_COMPILE_CACHE: compiledBeside(programs) },
  });
}
