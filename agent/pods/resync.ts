/** The slow round that finds what no event told: every pod is looked at again and its volumes' content renewed. */
import { type Clock, sleep } from '#api/kit/clock.ts';
import type { Pod } from '#api/schema/gen/core-v1.ts';

export interface ResyncDeps {
  readonly workers: () => readonly { readonly pod: Pod; readonly removing: boolean; wake(): void }[];
  /** Never rejects. */
  readonly refresh: (pod: Pod) => Promise<void>;
  readonly clock: Clock;
}

/** One round every `periodMs`, one pod after the other, until `signal` fires. Never rejects. */
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
