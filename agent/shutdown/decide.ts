/** Which pods end when in a shutdown of the machine. Pure. Source: upstream's node shutdown manager, release 1.24. */
import type { Pod } from '#api/schema/gen/core-v1.ts';

/** Time for the pods of a priority and those above, up to the next. */
export interface ShutdownPeriod {
  readonly priority: number;
  readonly seconds: number;
}

export interface ShutdownSettings {
  readonly graceMs: number;
  readonly criticalGraceMs: number;
  /** Used in place of the two others, where there are any and the gate is on. */
  readonly byPriority: readonly ShutdownPeriod[];
}

export interface EndingPod {
  readonly pod: Pod;
  readonly graceSeconds: number;
}

/** Pods that end at the same time. */
export interface ShutdownGroup extends ShutdownPeriod {
  readonly pods: readonly EndingPod[];
}

const DEFAULT_PRIORITY = 0;
const CRITICAL_PRIORITY = 2_000_000_000;

const wholeSeconds = (ms: number): number => Math.floor(ms / 1000);

/** The periods in the order in which they come; none: nothing is done at a shutdown. */
export function shutdownPeriods(settings: ShutdownSettings): readonly ShutdownPeriod[] {
  const { graceMs, criticalGraceMs, byPriority } = settings;
  if (byPriority.length > 0) return byPriority.toSorted((a, b) => a.priority - b.priority);
  if (graceMs <= 0 || criticalGraceMs > graceMs) return [];
  return [
    { priority: DEFAULT_PRIORITY, seconds: wholeSeconds(graceMs - criticalGraceMs) },
    { priority: CRITICAL_PRIORITY, seconds: wholeSeconds(criticalGraceMs) },
  ];
}

/** For how long the shutdown has to wait, in seconds. */
export const wholePeriod = (periods: readonly ShutdownPeriod[]): number =>
  periods.reduce((sum, { seconds }) => sum + seconds, 0);

/** A pod belongs to the highest period that is not above it; one below all belongs to the lowest.
 *  @param priorityOf of a pod
 *  @returns groups that have pods, the least important first */
export function shutdownGroups(
  pods: readonly Pod[],
  periods: readonly ShutdownPeriod[],
  priorityOf: (pod: Pod) => number,
): readonly ShutdownGroup[] {
  const ascending = periods.toSorted((a, b) => a.priority - b.priority);
  const groups = ascending.map((period) => ({ ...period, pods: new Array<EndingPod>() }));
  for (const pod of pods) {
    const group = groups.findLast(({ priority }) => priority <= priorityOf(pod)) ?? groups[0];
    if (group === undefined) continue;
    const own = pod.spec?.terminationGracePeriodSeconds ?? group.seconds;
    group.pods.push({ pod, graceSeconds: Math.min(own, group.seconds) });
  }
  return groups.filter((group) => group.pods.length > 0);
}
