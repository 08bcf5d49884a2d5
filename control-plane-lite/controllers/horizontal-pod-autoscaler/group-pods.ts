/** Sorts the pods of a target by what their metrics say about its load. Pure.
 *  Source: upstream's replica calculator, release 1.24. */
import type { PodMetric, PodMetrics, ScaledPod } from './facts.ts';

export interface ReadinessLimits {
  /** Period after its start in which a pod's CPU usage counts only while it is ready, in ms. */
  readonly cpuInitializationMs: number;
  /** Period after its start in which a pod's first readiness is expected, in ms. */
  readonly initialReadinessMs: number;
}

export interface PodGroups {
  /** Pods whose metrics count. */
  readonly ready: number;
  /** Names of pods without metrics that count yet. */
  readonly unready: readonly string[];
  /** Names of running pods without metrics. */
  readonly missing: readonly string[];
  /** Names of pods that are terminating or failed. */
  readonly ignored: readonly string[];
}

export interface GroupOptions extends ReadinessLimits {
  readonly metrics: PodMetrics;
  /** Only the CPU usage depends on readiness. */
  readonly isCpu: boolean;
  readonly nowMs: number;
}

type Group = 'ready' | 'unready' | 'missing' | 'ignored';

/** Reports whether the pod's CPU usage says nothing about its load. */
function isStarting(pod: ScaledPod, metric: PodMetric, options: GroupOptions): boolean {
  const { ready, startMs } = pod;
  if (ready === undefined || startMs === undefined) return true;
  const isUnready = ready.status === 'False';
  if (startMs + options.cpuInitializationMs > options.nowMs)
    return isUnready || metric.atMs < ready.sinceMs + metric.windowMs;
  // Unready and never ready before.
  return isUnready && startMs + options.initialReadinessMs > ready.sinceMs;
}

function groupOf(pod: ScaledPod, options: GroupOptions): Group {
  if (pod.deleting || pod.phase === 'Failed') return 'ignored';
  if (pod.phase === 'Pending') return 'unready';
  const metric = options.metrics.get(pod.name);
  if (metric === undefined) return 'missing';
  return options.isCpu && isStarting(pod, metric, options) ? 'unready' : 'ready';
}

export function groupPods(pods: readonly ScaledPod[], options: GroupOptions): PodGroups {
  const groups = Map.groupBy(pods, (pod) => groupOf(pod, options));
  const names = (group: Group): readonly string[] => (groups.get(group) ?? []).map(({ name }) => name);
  return {
    ready: names('ready').length,
    unready: names('unready'),
    missing: names('missing'),
    ignored: names('ignored'),
  };
}
