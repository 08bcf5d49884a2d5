/** Watches the demo pods through the local API of the agent until all have reached their goal. */

import type { Pod } from '#api/gen/core-v1.ts';
import { type Clock, sleep } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import { describePod, type PodLine } from './pod-line.ts';

export interface WatchDeps {
  readonly clock: Clock;
  readonly fetchPods: () => Promise<readonly Pod[]>;
  readonly show: (lines: readonly PodLine[]) => void;
}

export interface WatchResult {
  readonly lines: readonly PodLine[];
  readonly allSettled: boolean;
}

const POLL_MS = 200;
/** Time for which all pods must stay settled, since more manifests may still be read. */
const CALM_MS = 800;
/** Maximum time until the agent responds for the first time. */
const ANSWER_MS = 30_000;

/** Resolves when all pods are settled or the time is over; rejects with the signal's reason,
 *  or with the last error of an agent that never responds. */
export async function watchPods(
  deps: WatchDeps,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<WatchResult> {
  const { clock } = deps;
  const startMs = clock.monotonic();
  let settledSinceMs: number | undefined;
  let lines: readonly PodLine[] = [];
  let failure: Error | undefined = new Error('no response yet');
  for (;;) {
    signal.throwIfAborted();
    const result = await poll(deps);
    failure = result instanceof Error ? result : undefined;
    if (!(result instanceof Error)) {
      lines = result;
      deps.show(lines);
    }
    const nowMs = clock.monotonic();
    const settled = failure === undefined && lines.length > 0 && lines.every((line) => line.settled);
    settledSinceMs = settled ? (settledSinceMs ?? nowMs) : undefined;
    if (settledSinceMs !== undefined && nowMs - settledSinceMs >= CALM_MS) return { lines, allSettled: true };
    if (failure !== undefined && nowMs - startMs > ANSWER_MS) throw failure;
    if (nowMs - startMs > timeoutMs) return { lines, allSettled: false };
    await sleep(clock, POLL_MS, signal);
  }
}

async function poll(deps: WatchDeps): Promise<readonly PodLine[] | Error> {
  try {
    const pods = await deps.fetchPods();
    return pods.map((pod) => describePod(pod, deps.clock.now())).sort((a, b) => (a.name < b.name ? -1 : 1));
  } catch (thrown) {
    return asError(thrown);
  }
}
