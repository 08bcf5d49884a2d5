/** Order of pod termination in a machine shutdown. Pure. Source: upstream's node shutdown manager, release
 *  1.24. */
import type { Pod } from '#api/gen/core-v1.ts';

/** Grace period of pods from this priority up to the next one. */
export interface ShutdownPeriod {
  readonly priority: number;
  readonly seconds: number;
}

export interface ShutdownSettings {
  readonly graceMs: number;
  readonly criticalGraceMs: number;
  /** Used in place of the two others, if present and the gate is on. */
  readonly byPriority: readonly ShutdownPeriod[];
}

export interface EndingPod {
  readonly pod: Pod;
  readonly graceSeconds: number;
}

/** Pods that are terminated together. */
export interface ShutdownGroup extends ShutdownPeriod {
  readonly pods: readonly EndingPod[];
}

const DEFAULT_PRIORITY = 0;
const CRITICAL_PRIORITY = 2_000_000_000;

const wholeSeconds = (ms: number): number => Math.floor(ms / 1000);

/** Returns the periods in their order; empty when graceful shutdown is disabled. */
export function shutdownPeriods(settings: ShutdownSettings): readonly ShutdownPeriod[] {
  const { graceMs, criticalGraceMs, byPriority } = settings;
  if (byPriority.length > 0) return byPriority.toSorted((a, b) => a.priority - b.priority);
  if (graceMs <= 0 || criticalGraceMs > graceMs) return [];
  return [
    { priority: DEFAULT_PRIORITY, seconds: wholeSeconds(graceMs - criticalGraceMs) },
    { priority: CRITICAL_PRIORITY, seconds: wholeSeconds(criticalGraceMs) },
  ];
}

/** Returns the total delay of the shutdown, in seconds. */
export const wholePeriod = (periods: readonly ShutdownPeriod[]): number =>
  periods.reduce((sum, { seconds }) => sum + seconds, 0);

/** Groups pods by the highest period that is not above their priority; pods below all periods join the
 *  lowest.
 *  @param priorityOf returns the priority of a pod
 *  @returns groups with pods, the least important first */
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
    const own = Number(pod.spec?.terminationGracePeriodSeconds ?? group.seconds);
    group.pods.push({ pod, graceSeconds: Math.min(own, group.seconds) });
  }
  return groups.filter((group) => group.pods.length > 0);
}
