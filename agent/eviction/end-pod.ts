/** Terminates an evicted pod, and waits until its resources are released. */

import type { Pod } from '#api/gen/core-v1.ts';
import { type Clock, sleep } from '#api/kit/clock.ts';
import type { EvictionOrder } from '#eviction/manager.ts';
import type { RuntimeView } from '../observe/runtime-view.ts';
import { podIdentity } from '../pod-identity/identity.ts';
import type { PodManager } from '../pods/pod-manager.ts';

export interface EndPodDeps {
  readonly clock: Clock;
  readonly view: Pick<RuntimeView, 'pod' | 'onPodChange'>;
  readonly manager: Pick<PodManager, 'evict' | 'workers'>;
}

const DEFAULT_GRACE_SECONDS = 30;
/** Maximum wait for the release of resources after the grace period of the containers, in ms: as upstream. */
const CLEANUP_MS = 30_000;

const ownGrace = ({ spec }: Pod): number =>
  Number(spec?.terminationGracePeriodSeconds ?? DEFAULT_GRACE_SECONDS);

/** Resolves when none of the pod's containers runs, or the signal fires. */
function containersEnded(view: EndPodDeps['view'], podUID: string, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const check = (): void => {
    if (signal.aborted || view.pod(podUID).containers.every(({ state }) => state !== 'running')) resolve();
  };
  const end = view.onPodChange(podUID, check);
  signal.addEventListener('abort', check, { once: true });
  check();
  return promise.finally(() => {
    end();
    signal.removeEventListener('abort', check);
  });
}

/** Resolves when the pod's volumes are unmounted as well, or the wait times out.
 *  @throws the signal's reason */
export async function endPod(
  { clock, view, manager }: EndPodDeps,
  { pod, graceSeconds, message }: EvictionOrder<Pod>,
  signal: AbortSignal,
): Promise<void> {
  const { uid } = podIdentity(pod);
  const grace = Math.min(ownGrace(pod), graceSeconds ?? Number.POSITIVE_INFINITY);
  const worker = manager.workers().find((one) => one.pod.metadata?.uid === uid);
  await manager.evict(uid, message, grace);
  const enough = new AbortController();
  const until = AbortSignal.any([signal, enough.signal]);
  const freed = containersEnded(view, uid, until).then(() => worker?.volumesGone());
  await Promise.race([freed, sleep(clock, grace * 1000 + CLEANUP_MS, until).catch(() => undefined)]);
  enough.abort();
  signal.throwIfAborted();
}
