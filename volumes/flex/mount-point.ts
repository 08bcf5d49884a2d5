/** Mounts at paths that only the agent and drivers can reach. */
import { realpath } from 'node:fs/promises';
import { errorCode } from '#api/kit/errno.ts';
import type { Mounter } from '../mount/mounter.ts';

/** Reports whether something is mounted at the path itself. */
export async function isMountPoint(mounter: Pick<Mounter, 'list'>, path: string): Promise<boolean> {
  try {
    const real = await realpath(path);
    return (await mounter.list()).some(({ mountPoint }) => mountPoint === real);
  } catch (thrown) {
    if (errorCode(thrown) === 'ENOENT') return false;
    throw thrown;
  }
}
