/** Processes queued pods one by one in short slices of the event loop. */
import type { Clock } from '#api/kit/clock.ts';
import type { PodInfo } from './fleet/model.ts';
import type { SchedulingQueue } from './queue.ts';
import type { Binder } from './write/binder.ts';

export interface PumpDeps {
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Resolves in a later turn of the event loop. */
  readonly pause: () => Promise<void>;
  readonly queue: Pick<SchedulingQueue, 'take'>;
  readonly binder: Pick<Binder, 'free'>;
  /** Decides on a pod. */
  readonly attempt: (pod: PodInfo) => void;
  /** Reports the events since then to the queue. */
  readonly flushEvents: () => void;
}

/** Others get their turn after so long, in ms. */
const SLICE_MS = 5;

/** Processes entries until none is due or the signal is aborted. */
export async function pump(deps: PumpDeps, signal: AbortSignal): Promise<undefined> {
  const { clock, pause, queue, binder, attempt, flushEvents } = deps;
  while (!signal.aborted) {
    flushEvents();
    const endMs = clock.monotonic() + SLICE_MS;
    do {
      if (binder.free !== undefined) break;
      const pod = queue.take();
      if (pod === undefined) return undefined;
      attempt(pod);
    } while (clock.monotonic() < endMs);
    await (binder.free ?? pause());
  }
  return undefined;
}
