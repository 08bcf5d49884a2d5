/** Work in mounts of servers that may become unreachable, which blocks a thread for as long as the server
 *  is unreachable. Runs one task at a time per server and few in total, so that threads remain for
 *  everything else. After a timeout the caller gets an error, and no other task starts for that server
 *  before the first one finishes. */
import type { Clock } from '#api/kit/clock.ts';
import { createKeyedQueue } from '#api/kit/keyed-queue.ts';
import { createLimiter } from '#api/kit/limiter.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';
import type { MountInfo } from '../mount/mountinfo.ts';
import { within } from './attempts.ts';

export interface RemoteBinds {
  /** @throws VolumeSetupError while the server does not respond; the error of `task` */
  run(mount: Pick<MountInfo, 'device' | 'source' | 'fsType'>, task: () => Promise<void>): Promise<void>;
}

/** A quarter of the thread pool. */
const AT_ONCE = 4;
const TIMEOUT_MS = 30_000;

export function createRemoteBinds({ clock }: { readonly clock: Clock }): RemoteBinds {
  const queue = createKeyedQueue();
  const limiter = createLimiter(AT_ONCE);
  const hanging = new Set<string>();
  return {
    async run({ device, source, fsType }, task) {
      const gone = (): Error => new VolumeSetupError(`${source} (${fsType}) does not respond`);
      if (hanging.has(device)) throw gone();
      let timedOut = false;
      const late = (): Error => {
        timedOut = true;
        return gone();
      };
      const bound = async (): Promise<void> => {
        // The caller has already received an error, and will retry.
        if (timedOut) return;
        await limiter.run(async () => {
          const watch = clock.setTimer(() => hanging.add(device), TIMEOUT_MS);
          try {
            await task();
          } finally {
            watch.cancel();
            hanging.delete(device);
          }
        });
      };
      await within(clock, { limitMs: TIMEOUT_MS, late }, queue.run(device, bound));
    },
  };
}
