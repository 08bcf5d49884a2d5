/** Number of disruptions that a PodDisruptionBudget allows. Pure. Source: policy/v1 PodDisruptionBudget;
 *  upstream's disruption controller, release 1.24. */

import type { Condition } from '#api/gen/meta-v1.ts';
import type { PodDisruptionBudget, PodDisruptionBudgetStatus } from '#api/gen/policy-v1.ts';
import type { Int64 } from '#api/kit/int64.ts';
import { resolveAmount } from '#api/meta/int-or-string.ts';
import { formatTime, parseTime } from '#api/meta/time.ts';
import type { PodFacts } from '../workloads-kit/pod-facts.ts';

/** How long an evicted pod counts as disrupted, in ms: a pod that is still there afterwards was not
 *  evicted. */
export const DISRUPTION_MS = 120_000;

const CONDITION = 'DisruptionAllowed';

/** Pods that a budget expects. */
export interface Expectation {
  readonly expectedPods: number;
  readonly desiredHealthy: number;
  /** Pods without a controller: they are not counted if the budget is a percentage. */
  readonly unmanaged: readonly string[];
}

/** A controller of pods, by its uid, and its desired number of pods. */
export interface Scaler {
  readonly uid: string;
  readonly replicas: number;
}

type Amounts = NonNullable<PodDisruptionBudget['spec']>;

/** `scalerOf`: scaler of a pod with a controller. Called only if the budget depends on it. @throws errors of
 *  `scalerOf`, for controllers that cannot be scaled */
export function expectPods(
  { minAvailable, maxUnavailable }: Amounts,
  pods: readonly PodFacts[],
  scalerOf: (pod: PodFacts) => Scaler,
): Expectation {
  if (maxUnavailable !== undefined) {
    const { total, unmanaged } = sumOfScales(pods, scalerOf);
    const most = resolveAmount(maxUnavailable, total, 'up') ?? 0;
    return { expectedPods: total, desiredHealthy: Math.max(0, total - most), unmanaged };
  }
  if (typeof minAvailable === 'number') {
    return { expectedPods: pods.length, desiredHealthy: minAvailable, unmanaged: [] };
  }
  if (minAvailable === undefined) return { expectedPods: 0, desiredHealthy: 0, unmanaged: [] };
  const { total, unmanaged } = sumOfScales(pods, scalerOf);
  return {
    expectedPods: total,
    desiredHealthy: resolveAmount(minAvailable, total, 'up') ?? 0,
    unmanaged,
  };
}

/** Each controller counts once, however many of its pods are selected. */
function sumOfScales(
  pods: readonly PodFacts[],
  scalerOf: (pod: PodFacts) => Scaler,
): { readonly total: number; readonly unmanaged: readonly string[] } {
  const replicas = new Map<string, number>();
  const seen = new Set<string>();
  const unmanaged: string[] = [];
  for (const pod of pods) {
    if (pod.owner === undefined) {
      unmanaged.push(pod.name);
    } else if (!seen.has(pod.owner.uid)) {
      seen.add(pod.owner.uid);
      const scaler = scalerOf(pod);
      replicas.set(scaler.uid, scaler.replicas);
    }
  }
  return { total: [...replicas.values()].reduce((sum, count) => sum + count, 0), unmanaged };
}

export interface Disruptions {
  /** Evicted pods that are not terminating yet, with the time of the eviction. */
  readonly disrupted: Readonly<Record<string, string>>;
  /** Evicted pods that should be terminating by now. */
  readonly undeleted: readonly PodFacts[];
  /** Time until the next eviction expires, in ms. */
  readonly recheckMs?: number;
}

/** Recorded evictions that are still pending. */
export function decideDisruptions(
  remembered: Readonly<Record<string, string>> | undefined,
  pods: readonly PodFacts[],
  nowMs: number,
): Disruptions {
  const disrupted: Record<string, string> = {};
  const undeleted: PodFacts[] = [];
  let recheckMs = Number.POSITIVE_INFINITY;
  for (const pod of remembered === undefined ? [] : pods) {
    const since = remembered?.[pod.name];
    if (since === undefined || pod.deleting) continue;
    const leftMs = parseTime(since) + DISRUPTION_MS - nowMs;
    if (leftMs < 0) {
      undeleted.push(pod);
    } else {
      disrupted[pod.name] = since;
      recheckMs = Math.min(recheckMs, leftMs + 1);
    }
  }
  return { disrupted, undeleted, ...(Number.isFinite(recheckMs) ? { recheckMs } : {}) };
}

/** Pods that are ready and neither evicted nor terminating. */
export const countHealthy = (pods: readonly PodFacts[], { disrupted }: Disruptions): number =>
  pods.filter(({ ready, deleting, name }) => ready && !deleting && disrupted[name] === undefined).length;

/** Inputs of the status. */
export interface Observed {
  readonly generation: Int64;
  readonly before: PodDisruptionBudgetStatus | undefined;
  readonly nowMs: number;
}

export function budgetStatus(
  { expectedPods, desiredHealthy }: Expectation,
  currentHealthy: number,
  { disrupted }: Disruptions,
  observed: Observed,
): PodDisruptionBudgetStatus {
  // A budget that covers nothing allows nothing: its first pods may be created before the next recalculation.
  const disruptionsAllowed = expectedPods <= 0 ? 0 : Math.max(0, currentHealthy - desiredHealthy);
  const reason = disruptionsAllowed > 0 ? 'SufficientPods' : 'InsufficientPods';
  return {
    observedGeneration: observed.generation,
    ...(Object.keys(disrupted).length > 0 ? { disruptedPods: disrupted } : {}),
    disruptionsAllowed,
    currentHealthy,
    desiredHealthy,
    expectedPods,
    conditions: conditionsOf(observed, observed.generation, disruptionsAllowed > 0, reason, ''),
  };
}

/** No disruption is allowed while the expected number of pods is unknown. */
export function failedStatus(observed: Observed, message: string): PodDisruptionBudgetStatus {
  const { before } = observed;
  const generation = before?.observedGeneration ?? 0;
  return {
    currentHealthy: 0,
    desiredHealthy: 0,
    expectedPods: 0,
    ...before,
    disruptionsAllowed: 0,
    conditions: conditionsOf(observed, generation, false, 'SyncFailed', message),
  };
}

function conditionsOf(
  { before, nowMs }: Observed,
  observedGeneration: Int64,
  allowed: boolean,
  reason: string,
  message: string,
): readonly Condition[] {
  const conditions = before?.conditions ?? [];
  const status = allowed ? 'True' : 'False';
  const known = conditions.find(({ type }) => type === CONDITION);
  const lastTransitionTime = known?.status === status ? known.lastTransitionTime : formatTime(nowMs);
  return [
    ...conditions.filter(({ type }) => type !== CONDITION),
    { type: CONDITION, status, observedGeneration, lastTransitionTime, reason, message },
  ];
}
