/** Starts one containerd per run for the tests of project `node`: `inject('criEndpoint')`.
 *  It has the images `local/pause:1` and `local/busybox:1`. Tests use unique names and remove their pods.
 *  The programs that they start come from a bundle, see prepare-programs.ts. */
import type { TestProject } from 'vitest/node';
import { removeAbandonedCgroups, removeAbandonedFolders } from './abandoned.ts';
import { startTestContainerd } from './containerd.ts';
import { prepareTestPrograms } from './prepare-programs.ts';

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
  const { errors } = await removeAbandonedFolders();
  for (const { message } of errors) console.warn(message);
  await removeAbandonedCgroups();
  const instance = await startTestContainerd();
  try {
    await prepareTestPrograms(instance.folder);
  } catch (thrown) {
    await instance.purge();
    throw thrown;
  }
  project.provide('criEndpoint', instance.endpoint);
  return () => instance.purge();
}
