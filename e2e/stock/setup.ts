/** Gives the tests of project `stock` upstream's own programs, built if they are not there yet: `inject('stockPrograms')`;
 *  and the run's containerd, as those of project `node`. */
import type { TestProject } from 'vitest/node';
import startContainerd from '../../testing/containerd-setup.ts';
import { stockPrograms } from '../../testing/stock-server.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** Folder with upstream's node agent and API server. */
    stockPrograms: string;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  project.provide('stockPrograms', await stockPrograms());
  return await startContainerd(project);
}
