/** Time that a pod may stay on a node with its taints. Pure. Source: upstream's taint manager, release
 *  1.24. */

import type { Taint, Toleration } from '#api/gen/core-v1.ts';
import { secondsInMs } from '#api/kit/int64.ts';
import { parseTime } from '#api/meta/time.ts';
import { tolerates } from '../../scheduler/fleet/tolerations.ts';

/** Wall time in ms at which the pod is evicted; `undefined`: it may stay. A taint counts from the time when
 *  it was added. */
export function leavesAtMs(
  taints: readonly Taint[],
  tolerations: readonly Toleration[],
  nowMs: number,
): number | undefined {
  const limits = taints
    .filter(({ effect }) => effect === 'NoExecute')
    .map((taint) => limitOf(taint, tolerations, nowMs))
    .filter((limit) => limit !== undefined);
  return limits.length === 0 ? undefined : Math.min(...limits);
}

function limitOf(taint: Taint, tolerations: readonly Toleration[], nowMs: number): number | undefined {
  const used = tolerations.filter((toleration) => tolerates([toleration], taint));
  if (used.length === 0) return nowMs;
  const seconds = used.flatMap(({ tolerationSeconds }) => tolerationSeconds ?? []);
  if (seconds.length === 0) return undefined;
  const sinceMs = taint.timeAdded === undefined ? nowMs : parseTime(taint.timeAdded);
  return sinceMs + Math.max(0, Math.min(...seconds.map(secondsInMs)));
}
