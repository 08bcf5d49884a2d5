/** The end of a mount whose server may be gone. Taking it out of the tree is done at once; in the same call the kernel
 *  then takes leave of the server, for minutes if nobody answers. So a process of its own does it: a thread of ours
 *  would wait with it, and a few of them are all that we have. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ProgramResult } from '../programs/contract.ts';
import { failText } from '../programs/errors.ts';
import { VolumeSetupError } from '../setup-error.ts';
import type { SourceServices } from '../sources/source.ts';
import { mountAt, tablePath } from './mount-state.ts';

type Services = Pick<SourceServices, 'mounter' | 'run'>;

/** Time for the leave; until then what was written may still reach the server. */
const LEAVE_TIMEOUT_MS = 120_000;
/** First time between two looks at the mount table; nothing tells Node that it changed. */
const LOOK_INTERVAL_MS = 5;
const LONGEST_INTERVAL_MS = 500;
const never = new AbortController().signal;

/** Detaches all mounts at the directory. Ends when the mount table has none any longer, though the kernel may not have
 *  left the server yet. Does nothing when others are mounted inside.
 *  @throws VolumeSetupError, and what running a program throws */
export async function leaveServer({ mounter, run }: Services, dir: string): Promise<void> {
  const path = await tablePath(dir);
  if (path === undefined) return;
  const mounts = await mounter.list();
  if (mounts.some(({ mountPoint }) => mountPoint.startsWith(`${path}/`))) return;
  // No helper of the file system, which would ask the server, and no look at the mount itself.
  const args = ['--internal-only', '--no-canonicalize', '--lazy', path];
  for (const { id } of mounts.filter(({ mountPoint }) => mountPoint === path).toReversed()) {
    const left = run('umount', args, { signal: never, timeoutMs: LEAVE_TIMEOUT_MS });
    const result = await untilDetached(left, async () => (await mountAt(mounter, dir))?.id !== id);
    if (result !== undefined && result.code !== 0) {
      throw new VolumeSetupError(`${path} could not be unmounted: ${failText('umount', result)}`);
    }
  }
}

/** How the program ended, or undefined when it is still at it and has already done what counts. */
async function untilDetached(
  left: Promise<ProgramResult>,
  isDetached: () => Promise<boolean>,
): Promise<ProgramResult | undefined> {
  let ended = false;
  const end = left.finally(() => {
    ended = true;
  });
  // One that is killed at last has done what it could.
  end.catch(() => undefined);
  for (let intervalMs = LOOK_INTERVAL_MS; ; intervalMs = Math.min(2 * intervalMs, LONGEST_INTERVAL_MS)) {
    const first = await Promise.race([end, sleep(intervalMs, undefined, { ref: false })]);
    if (first !== undefined) return first;
    if (!ended && (await isDetached())) return undefined;
  }
}
