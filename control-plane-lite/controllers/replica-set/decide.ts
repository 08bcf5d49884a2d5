/** Decisions of the ReplicaSet and ReplicationController controllers: how many pods to create, which to
 *  delete, and the status. Pure. Source: upstream's ReplicaSet controller, release 1.24. */

import type { ReplicaSetCondition, ReplicaSetStatus } from '#api/gen/apps-v1.ts';
import type { Int64 } from '#api/kit/int64.ts';
import { matchesLabels, type Requirement } from '#api/meta/selectors.ts';
import { withCondition, withoutCondition } from '../workloads-kit/conditions.ts';
import { isAvailable, type PodFacts, untilAvailableMs } from '../workloads-kit/pod-facts.ts';
import { type RankedPod, type RankingTerms, rankForDeletion } from '../workloads-kit/ranking.ts';

/** Pods created or deleted per reconciliation; the rest follows. */
export const BURST_REPLICAS = 500;

export interface ReplicaSpec {
  readonly replicas: number;
  readonly minReadySeconds: number;
  readonly templateLabels: Readonly<Record<string, string>>;
}

/** Number of pods to create; negative: to delete. */
export function decideReplicas(wanted: number, actual: number): number {
  return Math.max(-BURST_REPLICAS, Math.min(BURST_REPLICAS, wanted - actual));
}

/** The pods to delete. `neighbours` returns the number of related pods on a node. */
export function choosePodsToRemove(
  pods: readonly PodFacts[],
  count: number,
  facts: RankingTerms & {
    readonly deletionCost: (pod: PodFacts) => number;
    readonly neighbours: (nodeName: string) => number;
  },
): readonly PodFacts[] {
  if (count >= pods.length) return pods;
  const ranked = pods.map(
    (pod): RankedPod => ({
      pod,
      deletionCost: facts.deletionCost(pod),
      neighbours: pod.nodeName === '' ? 0 : facts.neighbours(pod.nodeName),
    }),
  );
  return rankForDeletion(ranked, facts).slice(0, count);
}

/** Failure of creating or deleting pods. */
export interface ReplicaFailure {
  readonly reason: 'FailedCreate' | 'FailedDelete';
  readonly message: string;
}

const REPLICA_FAILURE = 'ReplicaFailure';

function conditionsAfter(
  conditions: readonly ReplicaSetCondition[] | undefined,
  failure: ReplicaFailure | undefined,
  now: string,
): readonly ReplicaSetCondition[] {
  if (failure === undefined) return withoutCondition(conditions, REPLICA_FAILURE);
  return withCondition(conditions, {
    type: REPLICA_FAILURE,
    status: 'True',
    lastTransitionTime: now,
    ...failure,
  });
}

const counted = <T extends Int64>(name: string, count: T): Readonly<Record<string, T>> =>
  count === 0 ? {} : { [name]: count };

/** The status with these active pods. `now`: RFC 3339. */
export function replicaStatus(
  spec: ReplicaSpec,
  pods: readonly PodFacts[],
  before: {
    readonly generation: Int64;
    readonly conditions: readonly ReplicaSetCondition[] | undefined;
    readonly failure: ReplicaFailure | undefined;
  },
  { nowMs, now }: { readonly nowMs: number; readonly now: string },
): ReplicaSetStatus {
  const template = Object.entries(spec.templateLabels).map(
    ([key, value]): Requirement => ({ key, operator: 'in', values: [value] }),
  );
  const conditions = conditionsAfter(before.conditions, before.failure, now);
  return {
    replicas: pods.length,
    ...counted('fullyLabeledReplicas', pods.filter(({ labels }) => matchesLabels(template, labels)).length),
    ...counted('readyReplicas', pods.filter(({ ready }) => ready).length),
    ...counted(
      'availableReplicas',
      pods.filter((pod) => isAvailable(pod, spec.minReadySeconds, nowMs)).length,
    ),
    ...counted('observedGeneration', before.generation),
    ...(conditions.length > 0 ? { conditions } : {}),
  };
}

/** Time until the status changes by itself, in ms. */
export const untilChangeMs = (
  { minReadySeconds }: ReplicaSpec,
  pods: readonly PodFacts[],
  nowMs: number,
): number | undefined => untilAvailableMs(pods, minReadySeconds, nowMs);
