/** Unmounting from a server that may be unreachable. The mount leaves the tree at once; in the same call
 *  the kernel then disconnects from the server, which takes minutes if it does not respond. So a separate
 *  process unmounts: one of the few threads of the agent would block. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { SourceServices } from '../contract/source.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';
import type { ProgramResult } from '../programs/contract.ts';
import { failText } from '../programs/errors.ts';
import { mountAt, tablePath } from './mount-state.ts';

type Services = Pick<SourceServices, 'mounter' | 'run'>;

/** Time for the disconnect; pending writes may still reach the server. */
const LEAVE_TIMEOUT_MS = 120_000;
/** First polling interval of the mount table; Node cannot watch it. */
const POLL_INTERVAL_MS = 5;
const MAX_INTERVAL_MS = 500;
const never = new AbortController().signal;

/** Detaches all mounts at the directory. Resolves when the mount table has none any longer, although the
 *  kernel may not have disconnected yet. Does nothing when other mounts are inside.
 *  @throws VolumeSetupError, and errors of running a program */
export async function unmountFromServer({ mounter, run }: Services, dir: string): Promise<void> {
  const path = await tablePath(dir);
  if (path === undefined) return;
  const mounts = await mounter.list();
  if (mounts.some(({ mountPoint }) => mountPoint.startsWith(`${path}/`))) return;
  // Neither the helper of the file system, which would contact the server, nor access to the mount itself.
  const args = ['--internal-only', '--no-canonicalize', '--lazy', path];
  for (const { id } of mounts.filter(({ mountPoint }) => mountPoint === path).toReversed()) {
    const left = run('umount', args, { signal: never, timeoutMs: LEAVE_TIMEOUT_MS });
    const result = await untilDetached(left, async () => (await mountAt(mounter, dir))?.id !== id);
    if (result !== undefined && result.code !== 0) {
      throw new VolumeSetupError(`failed to unmount ${path}: ${failText('umount', result)}`);
    }
  }
}

/** Returns the program's result, or undefined if it is still running after the mount is gone. */
async function untilDetached(
  left: Promise<ProgramResult>,
  isDetached: () => Promise<boolean>,
): Promise<ProgramResult | undefined> {
  let ended = false;
  const end = left.finally(() => {
    ended = true;
  });
  // A program killed later has done its part.
  end.catch(() => undefined);
  for (let intervalMs = POLL_INTERVAL_MS; ; intervalMs = Math.min(2 * intervalMs, MAX_INTERVAL_MS)) {
    const first = await Promise.race([end, sleep(intervalMs, undefined, { ref: false })]);
    if (first !== undefined) return first;
    if (!ended && (await isDetached())) return undefined;
  }
}
