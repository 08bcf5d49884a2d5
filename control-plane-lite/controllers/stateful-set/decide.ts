/** Decisions of the StatefulSet controller: which pods to create and delete next, and the status. Pure.
 *  Source: upstream's StatefulSet controller, release 1.24.
 *
 *    in order: from the first ordinal up, each pod is there and available before the next is made
 *              from the last ordinal down, each pod too many is gone before the next one goes
 *              from the last ordinal down to the partition, each old pod is replaced, one at a time */

import type { StatefulSetStatus } from '#api/gen/apps-v1.ts';
import type { Int64 } from '#api/kit/int64.ts';
import { isAvailable, type PodFacts, untilAvailableMs } from '../workloads-kit/pod-facts.ts';
import { REVISION_LABEL } from '../workloads-kit/revisions.ts';

export interface StatefulFacts {
  readonly name: string;
  readonly generation: Int64;
  readonly deleting: boolean;
  readonly replicas: number;
  /** Parallel pod management. */
  readonly parallel: boolean;
  readonly onDelete: boolean;
  /** Partition: pods with lower ordinals are not updated. */
  readonly partition: number;
  /** Pods that an update may make unavailable. */
  readonly maxUnavailable: number;
  readonly minReadySeconds: number;
  readonly collisionCount: number | undefined;
}

/** Revisions: of pods below the partition, and of all others. */
export interface Versions {
  readonly current: string;
  readonly update: string;
}

export interface StatefulInput {
  readonly set: StatefulFacts;
  readonly versions: Versions;
  readonly pods: readonly PodFacts[];
  readonly nowMs: number;
}

export type StatefulAction =
  | { readonly kind: 'create'; readonly ordinal: number; readonly version: string }
  | { readonly kind: 'delete'; readonly pod: PodFacts; readonly failed: boolean }
  /** The pod stays: its labels and claims are corrected. */
  | { readonly kind: 'keep'; readonly pod: PodFacts; readonly ordinal: number };

export interface StatefulPlan {
  readonly actions: readonly StatefulAction[];
  readonly status: StatefulSetStatus;
  /** Time until the next reconciliation without any change, in ms. */
  readonly recheckMs?: number;
}

/** The ordinal at the end of the name; -1 if the name is not the set's. */
export function ordinalOf(setName: string, podName: string): number {
  const rest = podName.startsWith(`${setName}-`) ? podName.slice(setName.length + 1) : '';
  return /^(0|[1-9]\d{0,9})$/.test(rest) ? Number(rest) : -1;
}

const isReady = ({ phase, ready }: PodFacts): boolean => phase === 'Running' && ready;
const versionOf = ({ labels }: PodFacts): string => labels[REVISION_LABEL] ?? '';

interface Slot {
  readonly ordinal: number;
  readonly pod?: PodFacts;
}

interface Places {
  /** Desired slots in order. */
  readonly wanted: readonly Slot[];
  /** Surplus pods in deletion order. */
  readonly surplus: readonly PodFacts[];
}

function placesOf({ set, pods }: StatefulInput): Places {
  const byOrdinal = new Map(pods.map((pod) => [ordinalOf(set.name, pod.name), pod]));
  const wanted = Array.from({ length: set.replicas }, (_, ordinal): Slot => {
    const pod = byOrdinal.get(ordinal);
    return { ordinal, ...(pod === undefined ? {} : { pod }) };
  });
  const surplus = [...byOrdinal]
    .filter(([ordinal]) => ordinal >= set.replicas)
    .toSorted(([left], [right]) => right - left)
    .map(([, pod]) => pod);
  return { wanted, surplus };
}

/** Actions for the slots. `blocked`: no further action is allowed now. */
interface Stage {
  readonly actions: readonly StatefulAction[];
  readonly blocked: boolean;
}

function fillSlots({ set, versions, nowMs }: StatefulInput, wanted: readonly Slot[]): Stage {
  const actions: StatefulAction[] = [];
  let changed = false;
  for (const { ordinal, pod } of wanted) {
    if (pod === undefined) {
      const version = !set.onDelete && ordinal < set.partition ? versions.current : versions.update;
      actions.push({ kind: 'create', ordinal, version });
      changed = true;
    } else if (pod.phase === 'Failed' && !pod.deleting) {
      actions.push({ kind: 'delete', pod, failed: true });
      changed = true;
    } else {
      actions.push({ kind: 'keep', pod, ordinal });
    }
    const available =
      pod !== undefined && !pod.deleting && isReady(pod) && isAvailable(pod, set.minReadySeconds, nowMs);
    if (!set.parallel && !available) return { actions, blocked: true };
  }
  return { actions, blocked: changed };
}

/** In ordered mode only the first unavailable pod may be deleted. */
function dropSurplus({ set, nowMs }: StatefulInput, { wanted, surplus }: Places): Stage {
  const isHealthy = (pod: PodFacts): boolean => isReady(pod) && !pod.deleting;
  const firstUnhealthy = wanted.some(({ pod }) => pod === undefined || !isHealthy(pod))
    ? undefined
    : surplus.findLast((pod) => !isHealthy(pod));
  const actions: StatefulAction[] = [];
  for (const pod of surplus) {
    if (!set.parallel) {
      const useful = isReady(pod) && isAvailable(pod, set.minReadySeconds, nowMs);
      if (pod.deleting || (!useful && pod !== firstUnhealthy)) return { actions, blocked: true };
    }
    if (!pod.deleting) actions.push({ kind: 'delete', pod, failed: false });
    if (!set.parallel) return { actions, blocked: true };
  }
  return { actions, blocked: false };
}

/** Old pods to replace now: the highest ordinals, as far as enough others are available. */
function replaceOld(
  { set, versions, nowMs }: StatefulInput,
  wanted: readonly Slot[],
): readonly StatefulAction[] {
  if (set.onDelete) return [];
  const actions: StatefulAction[] = [];
  let unavailable = 0;
  for (const { pod } of wanted.slice(set.partition).toReversed()) {
    if (unavailable >= set.maxUnavailable) break;
    if (pod === undefined) {
      unavailable += 1;
      continue;
    }
    const well = isReady(pod) && !pod.deleting && isAvailable(pod, set.minReadySeconds, nowMs);
    if (versionOf(pod) !== versions.update && !pod.deleting) {
      actions.push({ kind: 'delete', pod, failed: false });
      unavailable += 1;
    } else if (!well) unavailable += 1;
  }
  return actions;
}

function statusOf({ set, versions, pods, nowMs }: StatefulInput): StatefulSetStatus {
  const staying = pods.filter(({ deleting }) => !deleting);
  const ready = pods.filter(isReady);
  const updated = staying.filter((pod) => versionOf(pod) === versions.update).length;
  const complete =
    !set.onDelete && updated === pods.length && ready.length === pods.length && updated === set.replicas;
  const current = staying.filter((pod) => versionOf(pod) === versions.current).length;
  const counts = {
    observedGeneration: set.generation,
    readyReplicas: ready.length,
    currentReplicas: complete ? updated : current,
    updatedReplicas: updated,
  };
  return {
    replicas: pods.length,
    ...Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0)),
    // Upstream always sets this field.
    availableReplicas: ready.filter((pod) => isAvailable(pod, set.minReadySeconds, nowMs)).length,
    currentRevision: complete ? versions.update : versions.current,
    updateRevision: versions.update,
    ...(set.collisionCount === undefined ? {} : { collisionCount: set.collisionCount }),
  };
}

function actionsOf(input: StatefulInput): readonly StatefulAction[] {
  if (input.set.deleting) return [];
  const places = placesOf(input);
  const filled = fillSlots(input, places.wanted);
  if (filled.blocked && !input.set.parallel) return filled.actions;
  const dropped = dropSurplus(input, places);
  const actions = [...filled.actions, ...dropped.actions];
  return filled.blocked || dropped.blocked ? actions : [...actions, ...replaceOld(input, places.wanted)];
}

export function decideStateful(input: StatefulInput): StatefulPlan {
  const { set, pods, nowMs } = input;
  const recheckMs = untilAvailableMs(pods, set.minReadySeconds, nowMs);
  return {
    actions: actionsOf(input),
    status: statusOf(input),
    ...(recheckMs === undefined ? {} : { recheckMs }),
  };
}
