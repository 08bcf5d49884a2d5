/** Work in mounts of servers that may go away while it is done: a thread that waits for such a server waits for as long
 *  as the server is gone. One piece of work at a time for each server, and few in all, so that threads are left for
 *  everybody else; whoever waits too long is told, and nothing more is begun there before the first one ends. */
import type { Clock } from '#api/kit/clock.ts';
import { createKeyedQueue } from '#api/kit/keyed-queue.ts';
import { createLimiter } from '#api/kit/limiter.ts';
import { within } from './attempts.ts';
import type { MountInfo } from './mountinfo.ts';
import { VolumeSetupError } from './setup-error.ts';

export interface RemoteBinds {
  /** @throws VolumeSetupError while the server doesn't answer; what `task` throws */
  run(mount: Pick<MountInfo, 'device' | 'source' | 'fsType'>, task: () => Promise<void>): Promise<void>;
}

/** A quarter of the threads of the pool. */
const AT_ONCE = 4;
const PATIENCE_MS = 30_000;

export function createRemoteBinds({ clock }: { readonly clock: Clock }): RemoteBinds {
  const queue = createKeyedQueue();
  const limiter = createLimiter(AT_ONCE);
  const hanging = new Set<string>();
  return {
    async run({ device, source, fsType }, task) {
      const gone = (): Error => new VolumeSetupError(`${source} (${fsType}) does not answer`);
      if (hanging.has(device)) throw gone();
      let told = false;
      const late = (): Error => {
        told = true;
        return gone();
      };
      const bound = async (): Promise<void> => {
        // Whoever asked has been told already, and asks again.
        if (told) return;
        await limiter.run(async () => {
          const watch = clock.setTimer(() => hanging.add(device), PATIENCE_MS);
          try {
            await task();
          } finally {
            watch.cancel();
            hanging.delete(device);
          }
        });
      };
      await within(clock, { limitMs: PATIENCE_MS, late }, queue.run(device, bound));
    },
  };
}
