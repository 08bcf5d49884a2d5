/** Set-up of project `stock`: provides upstream's programs, built if they do not exist yet
 *  (`inject('upstreamPrograms')`), and the run's containerd, as for project `node`. */
import type { TestProject } from 'vitest/node';
import startContainerd from '../../testing/containerd-setup.ts';
import { upstreamPrograms } from '../../testing/stock-server.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** Folder with upstream's node agent and API server. */
    upstreamPrograms: string;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  project.provide('upstreamPrograms', await upstreamPrograms());
  return await startContainerd(project);
}
