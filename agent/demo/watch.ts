/** Follows the demo's pods on the agent's local API until all of them are where their manifests want them. */
import { asError, type Clock, sleep } from '#api/kit/clock.ts';
import type { Pod } from '#api/schema/gen/core-v1.ts';
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

const LOOK_MS = 200;
/** Pods must stay settled for this long, as manifests may still be coming in. */
const CALM_MS = 800;
/** How long the agent may take to answer at all. */
const ANSWER_MS = 30_000;

/** Resolves when all pods are settled or the time is over; rejects with the signal's reason,
 *  or with the last error of an agent that never answers. */
export async function watchPods(
  deps: WatchDeps,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<WatchResult> {
  const { clock } = deps;
  const startMs = clock.monotonic();
  let settledSinceMs: number | undefined;
  let lines: readonly PodLine[] = [];
  let failure: Error | undefined = new Error('no answer yet');
  for (;;) {
    signal.throwIfAborted();
    const looked = await look(deps);
    failure = looked instanceof Error ? looked : undefined;
    if (!(looked instanceof Error)) {
      lines = looked;
      deps.show(lines);
    }
    const nowMs = clock.monotonic();
    const settled = failure === undefined && lines.length > 0 && lines.every((line) => line.settled);
    settledSinceMs = settled ? (settledSinceMs ?? nowMs) : undefined;
    if (settledSinceMs !== undefined && nowMs - settledSinceMs >= CALM_MS) return { lines, allSettled: true };
    if (failure !== undefined && nowMs - startMs > ANSWER_MS) throw failure;
    if (nowMs - startMs > timeoutMs) return { lines, allSettled: false };
    await sleep(clock, LOOK_MS, signal);
  }
}

async function look(deps: WatchDeps): Promise<readonly PodLine[] | Error> {
  try {
    const pods = await deps.fetchPods();
    return pods.map((pod) => describePod(pod, deps.clock.now())).sort((a, b) => (a.name < b.name ? -1 : 1));
  } catch (thrown) {
    return asError(thrown);
  }
}
