/** Facts about a pod that controllers read. Pure. */

import type { Pod, PodStatus } from '#api/gen/core-v1.ts';
import { parseTime } from '#api/meta/time.ts';
import type { CachedObject } from '../../cache/contract.ts';
import { typed } from '../../resources/view.ts';
import { type Child, childFacts } from './children.ts';

export interface PodFacts extends Child {
  /** Empty: not scheduled. */
  readonly nodeName: string;
  /** Default: `Pending`. */
  readonly phase: string;
  readonly ready: boolean;
  /** Since when it is ready, in Unix ms; only of a ready pod. */
  readonly readySinceMs?: number;
  /** Restarts of the container that restarted most often. */
  readonly restarts: number;
}

const readyCondition = ({ conditions = [] }: PodStatus): { status: string; since?: string } | undefined => {
  const found = conditions.find(({ type }) => type === 'Ready');
  if (found === undefined) return undefined;
  const { status, lastTransitionTime: since } = found;
  return { status, ...(since === undefined ? {} : { since }) };
};

export function podFacts(cached: CachedObject): PodFacts {
  const { spec, status = {} } = typed<Pod>(cached.object());
  const ready = readyCondition(status);
  const isReady = ready?.status === 'True';
  return {
    ...childFacts(cached),
    nodeName: spec?.nodeName ?? '',
    phase: status.phase ?? 'Pending',
    ready: isReady,
    ...(isReady && ready.since !== undefined ? { readySinceMs: parseTime(ready.since) } : {}),
    restarts: Math.max(0, ...(status.containerStatuses ?? []).map(({ restartCount }) => restartCount)),
  };
}

/** A pod that has succeeded or failed. */
export const isFinished = ({ phase }: Pick<PodFacts, 'phase'>): boolean =>
  phase === 'Succeeded' || phase === 'Failed';

/** An active pod: neither finished nor terminating. */
export const isActive = (pod: Pick<PodFacts, 'phase' | 'deleting'>): boolean =>
  !isFinished(pod) && !pod.deleting;

/** Time at which a pod becomes available, in Unix ms; `undefined` if it is not ready. */
function availableAtMs(
  { ready, readySinceMs }: Pick<PodFacts, 'ready' | 'readySinceMs'>,
  minReadySeconds: number,
): number | undefined {
  if (!ready) return undefined;
  if (minReadySeconds === 0) return 0;
  return readySinceMs === undefined ? undefined : readySinceMs + minReadySeconds * 1000;
}

/** Reports whether a pod is available: ready for long enough. */
export function isAvailable(
  pod: Pick<PodFacts, 'ready' | 'readySinceMs'>,
  minReadySeconds: number,
  nowMs: number,
): boolean {
  const atMs = availableAtMs(pod, minReadySeconds);
  return atMs !== undefined && atMs <= nowMs;
}

/** Time until the next pod becomes available, in ms; `undefined`: none will. */
export function untilAvailableMs(
  pods: readonly Pick<PodFacts, 'ready' | 'readySinceMs'>[],
  minReadySeconds: number,
  nowMs: number,
): number | undefined {
  const times = pods
    .map((pod) => availableAtMs(pod, minReadySeconds))
    .filter((atMs) => atMs !== undefined && atMs > nowMs)
    .map((atMs) => (atMs ?? 0) - nowMs);
  return times.length === 0 ? undefined : Math.min(...times);
}
