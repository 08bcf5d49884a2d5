/** What is mounted at a path that only the agent and drivers can reach. */
import { realpath } from 'node:fs/promises';
import type { Mounter } from '../mounter.ts';
import { errorCode } from '../setup-error.ts';

/** Whether something is mounted at the path itself. */
export async function isMountPoint(mounter: Pick<Mounter, 'list'>, path: string): Promise<boolean> {
  try {
    const real = await realpath(path);
    return (await mounter.list()).some(({ mountPoint }) => mountPoint === real);
  } catch (thrown) {
    if (errorCode(thrown) === 'ENOENT') return false;
    throw thrown;
  }
}
