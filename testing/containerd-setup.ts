/** Gives the tests of project `node` one containerd for the whole run: `inject('criEndpoint')`.
 *  It has the images `local/pause:1` and `local/busybox:1`. Tests use names of their own and remove their pods. */
import type { TestProject } from 'vitest/node';
import { removeAbandonedCgroups, removeAbandonedContainerds } from './abandoned.ts';
import { fillCompileCache } from './compile-cache.ts';
import { startTestContainerd } from './containerd.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** `unix://…` of the run's containerd. */
    criEndpoint: string;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  if (process.getuid?.() !== 0) {
    throw new Error('the node tests run real containers and need root: run `npm test` as root or with sudo');
  }
  await removeAbandonedContainerds();
  await removeAbandonedCgroups();
  await fillCompileCache();
  const instance = await startTestContainerd();
  project.provide('criEndpoint', instance.endpoint);
  return () => instance.purge();
}
