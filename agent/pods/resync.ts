/** Periodic resync for changes that no event reported: reconciles every pod and refreshes its volumes. */

import type { Pod } from '#api/gen/core-v1.ts';
import { type Clock, sleep } from '#api/kit/clock.ts';

export interface ResyncDeps {
  readonly workers: () => readonly { readonly pod: Pod; readonly removing: boolean; wake(): void }[];
  /** Never rejects. */
  readonly refresh: (pod: Pod) => Promise<void>;
  readonly clock: Clock;
}

/** Runs one round every `periodMs`, one pod after the other, until `signal` fires. Never rejects. */
export async function runResync(deps: ResyncDeps, periodMs: number, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await sleep(deps.clock, periodMs, signal).catch(() => undefined);
    for (const worker of deps.workers()) {
      if (signal.aborted) return;
      if (worker.removing) continue;
      await deps.refresh(worker.pod);
      worker.wake();
    }
  }
}
