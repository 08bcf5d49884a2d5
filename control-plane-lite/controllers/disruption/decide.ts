/** What a disruption budget allows. Pure. Source: policy/v1 PodDisruptionBudget; upstream's disruption controller,
 *  release 1.24. */
import { resolveAmount } from '#api/meta/int-or-string.ts';
import { formatTime, parseTime } from '#api/meta/time.ts';
import type { Condition } from '#api/schema/gen/meta-v1.ts';
import type { PodDisruptionBudget, PodDisruptionBudgetStatus } from '#api/schema/gen/policy-v1.ts';
import type { PodFacts } from '../workloads-kit/pod-facts.ts';

/** How long an evicted pod counts as gone, in ms: if it is still there then, the eviction came to nothing. */
export const DISRUPTION_MS = 120_000;

const CONDITION = 'DisruptionAllowed';

/** How many pods a budget counts on. */
export interface Expectation {
  readonly expectedPods: number;
  readonly desiredHealthy: number;
  /** Pods that nobody scales: they are not counted where the budget is a share. */
  readonly unmanaged: readonly string[];
}

/** A controller of pods, by its uid, and how many it shall have. */
export interface Scaler {
  readonly uid: string;
  readonly replicas: number;
}

type Amounts = NonNullable<PodDisruptionBudget['spec']>;

/** `scalerOf`: of a pod that has a controller. Asked only where the budget depends on it.
 *  @throws what `scalerOf` throws, for controllers that are not scaled */
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
  /** Pods that were evicted and are not yet on their way out, with the time of that. */
  readonly disrupted: Readonly<Record<string, string>>;
  /** Pods that should have been on their way out by now. */
  readonly undeleted: readonly PodFacts[];
  /** When the next of them has had its time, in ms from now. */
  readonly recheckMs?: number;
}

/** Of the evictions that the budget remembers, those that are still to be seen. */
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

/** Pods that are ready, and of which nobody has been told to go. */
export const countHealthy = (pods: readonly PodFacts[], { disrupted }: Disruptions): number =>
  pods.filter(({ ready, deleting, name }) => ready && !deleting && disrupted[name] === undefined).length;

/** What a status is made for. */
export interface Observed {
  readonly generation: number;
  readonly before: PodDisruptionBudgetStatus | undefined;
  readonly nowMs: number;
}

export function budgetStatus(
  { expectedPods, desiredHealthy }: Expectation,
  currentHealthy: number,
  { disrupted }: Disruptions,
  observed: Observed,
): PodDisruptionBudgetStatus {
  // A budget that covers nothing allows nothing: its first pods may come before anybody counts again.
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

/** Nothing may be disrupted as long as it is not known how much there is. */
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
  observedGeneration: number,
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
