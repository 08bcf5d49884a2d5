/** Gives the tests of project `stock` upstream's own programs, built if they are not there yet: `inject('stockPrograms')`;
 *  and the run's containerd, as those of project `node`. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text as readAll } from 'node:stream/consumers';
import type { TestProject } from 'vitest/node';
import startContainerd from '../../testing/containerd-setup.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** Folder with upstream's node agent and API server. */
    stockPrograms: string;
  }
}

const SCRIPT = join(import.meta.dirname, '..', '..', 'scripts', 'stock-programs.sh');

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const build = spawn('sh', [SCRIPT], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [said] = await Promise.all([readAll(build.stdout), once(build, 'close')]);
  if (build.exitCode !== 0) throw new Error(`scripts/stock-programs.sh ended with ${build.exitCode}`);
  project.provide('stockPrograms', said.trim());
  return await startContainerd(project);
}
