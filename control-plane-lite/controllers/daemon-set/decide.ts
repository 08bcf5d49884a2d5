/** Decisions of the DaemonSet controller: which pods to create and delete, and the status. Pure. Source:
 *  upstream's DaemonSet controller, release 1.24. */

import type { DaemonSetStatus } from '#api/gen/apps-v1.ts';
import type { Int64 } from '#api/kit/int64.ts';
import { resolveAmount } from '#api/meta/int-or-string.ts';
import { isAvailable, type PodFacts, untilAvailableMs } from '../workloads-kit/pod-facts.ts';
import { REVISION_LABEL } from '../workloads-kit/revisions.ts';

export interface DaemonFacts {
  readonly generation: Int64;
  readonly minReadySeconds: number;
  readonly onDelete: boolean;
  readonly maxUnavailable: number | string | undefined;
  readonly maxSurge: number | string | undefined;
  readonly collisionCount: number | undefined;
}

/** A node with the pods that run there or are assigned to it. */
export interface DaemonNode {
  readonly name: string;
  readonly starts: boolean;
  readonly stays: boolean;
  readonly pods: readonly PodFacts[];
}

export interface DaemonInput {
  readonly daemon: DaemonFacts;
  readonly nodes: readonly DaemonNode[];
  /** Unscheduled pods for a node that does not exist. */
  readonly lost: readonly PodFacts[];
  /** Label of pods of the current revision. */
  readonly hash: string;
  /** Time until a failed pod on the node is replaced, in ms. */
  readonly failureDelayMs: (nodeName: string) => number;
  readonly nowMs: number;
}

export interface DaemonPlan {
  /** Names of the nodes that get a pod. */
  readonly create: readonly string[];
  readonly remove: readonly PodFacts[];
  /** Failed pods among those to delete. */
  readonly failed: readonly PodFacts[];
  readonly status: DaemonSetStatus;
  /** Time until the next reconciliation without any change, in ms. */
  readonly recheckMs?: number;
}

const byAge = (left: PodFacts, right: PodFacts): number =>
  left.createdMs - right.createdMs || (left.name < right.name ? -1 : 1);

const isNew = ({ labels }: PodFacts, hash: string): boolean => labels[REVISION_LABEL] === hash;

interface Limits {
  readonly maxSurge: number;
  readonly maxUnavailable: number;
}

/** Resolved limits; if both are 0, one pod may be unavailable. */
export function daemonLimits({ maxSurge, maxUnavailable }: DaemonFacts, desired: number): Limits {
  const surge = resolveAmount(maxSurge ?? 0, desired, 'up') ?? 0;
  const unavailable = resolveAmount(maxUnavailable ?? 1, desired, 'up') ?? 1;
  return { maxSurge: surge, maxUnavailable: surge === 0 && unavailable === 0 ? 1 : unavailable };
}

interface Changes {
  readonly create: readonly string[];
  readonly remove: readonly PodFacts[];
  readonly failed: readonly PodFacts[];
  readonly delayMs?: number;
}

/** Of an old and a new pod on a node, the old one is deleted once it is unavailable or the new one is
 *  available. */
function surplusOfSurge(pods: readonly PodFacts[], input: DaemonInput): readonly PodFacts[] {
  const { hash, daemon, nowMs } = input;
  const sorted = pods.toSorted(byAge);
  const newPod = sorted.find((pod) => isNew(pod, hash));
  const oldPod = sorted.find((pod) => !isNew(pod, hash));
  const others = sorted.filter((pod) => pod !== newPod && pod !== oldPod);
  if (newPod === undefined || oldPod === undefined) return others;
  const replaced = !oldPod.ready || isAvailable(newPod, daemon.minReadySeconds, nowMs);
  return replaced ? [...others, oldPod] : others;
}

/** Changes that one node needs, whatever the revision of its pods. */
function manageNode(node: DaemonNode, input: DaemonInput, surge: boolean): Changes {
  const alive = node.pods.filter(({ deleting }) => !deleting);
  if (!node.stays) return { create: [], remove: alive, failed: [] };
  if (node.pods.length === 0) return { create: node.starts ? [node.name] : [], remove: [], failed: [] };
  const broken = alive.filter(({ phase }) => phase === 'Failed');
  const delayMs = broken.length === 0 ? 0 : input.failureDelayMs(node.name);
  const failed = delayMs > 0 ? [] : broken;
  const running = alive.filter(({ phase }) => phase !== 'Failed');
  const surplus = surge ? surplusOfSurge(running, input) : running.toSorted(byAge).slice(1);
  return {
    create: [],
    remove: [...failed, ...surplus],
    failed,
    ...(delayMs > 0 ? { delayMs } : {}),
  };
}

/** The new and the old pod of a node; `undefined` if there are several of a kind. */
function pairOf(
  { pods }: DaemonNode,
  hash: string,
): { readonly newPod: PodFacts | undefined; readonly oldPod: PodFacts | undefined } | undefined {
  const alive = pods.filter(({ deleting }) => !deleting);
  const [newPod, ...moreNew] = alive.filter((pod) => isNew(pod, hash));
  const [oldPod, ...moreOld] = alive.filter((pod) => !isNew(pod, hash));
  return moreNew.length > 0 || moreOld.length > 0 ? undefined : { newPod, oldPod };
}

/** Old pods that may be deleted. Deviation: upstream does not count old pods that are already unavailable. */
function rollByDeleting(
  nodes: readonly DaemonNode[],
  { hash, daemon, nowMs }: DaemonInput,
  maxUnavailable: number,
): readonly PodFacts[] {
  const available = (pod: PodFacts): boolean => isAvailable(pod, daemon.minReadySeconds, nowMs);
  const useless: PodFacts[] = [];
  const candidates: PodFacts[] = [];
  let unavailable = 0;
  for (const node of nodes) {
    const pair = pairOf(node, hash);
    const only =
      pair?.newPod === undefined ? pair?.oldPod : pair.oldPod === undefined ? pair.newPod : undefined;
    if (only === undefined || !available(only)) unavailable += 1;
    if (only === undefined || only === pair?.newPod) continue;
    if (available(only)) candidates.push(only);
    else useless.push(only);
  }
  return [...useless, ...candidates.slice(0, Math.max(0, maxUnavailable - unavailable))];
}

/** Nodes that may get a new pod beside the old one, and old pods that have been replaced. */
function rollBySurge(
  nodes: readonly DaemonNode[],
  { hash, daemon, nowMs }: DaemonInput,
  maxSurge: number,
): Changes {
  const available = (pod: PodFacts): boolean => isAvailable(pod, daemon.minReadySeconds, nowMs);
  const remove: PodFacts[] = [];
  const free: string[] = [];
  const candidates: string[] = [];
  let surged = 0;
  for (const node of nodes) {
    const pair = pairOf(node, hash);
    if (pair === undefined) surged += 1;
    if (pair?.oldPod === undefined) continue;
    if (pair.newPod === undefined) (available(pair.oldPod) ? candidates : free).push(node.name);
    else if (available(pair.newPod)) remove.push(pair.oldPod);
    else surged += 1;
  }
  const create = [...free, ...candidates.slice(0, Math.max(0, maxSurge - surged))];
  return { create, remove, failed: [] };
}

function statusOf({ daemon, nodes, hash, nowMs }: DaemonInput): DaemonSetStatus {
  const wanted = nodes.filter(({ starts }) => starts);
  const scheduled = wanted.flatMap(({ pods }) => pods.toSorted(byAge).slice(0, 1));
  const ready = scheduled.filter((pod) => pod.ready);
  const available = ready.filter((pod) => isAvailable(pod, daemon.minReadySeconds, nowMs)).length;
  const counted = {
    observedGeneration: daemon.generation,
    updatedNumberScheduled: scheduled.filter((pod) => isNew(pod, hash)).length,
    numberAvailable: available,
    numberUnavailable: wanted.length - available,
  };
  return {
    currentNumberScheduled: scheduled.length,
    numberMisscheduled: nodes.filter(({ starts, pods }) => !starts && pods.length > 0).length,
    desiredNumberScheduled: wanted.length,
    numberReady: ready.length,
    ...Object.fromEntries(Object.entries(counted).filter(([, count]) => count > 0)),
    ...(daemon.collisionCount === undefined ? {} : { collisionCount: daemon.collisionCount }),
  };
}

/** First every node gets what it needs; only then are old pods replaced. */
function changesOf(input: DaemonInput): Changes {
  const { daemon, nodes, lost } = input;
  const limits = daemonLimits(daemon, nodes.filter(({ starts }) => starts).length);
  const surge = !daemon.onDelete && limits.maxSurge > 0;
  const each = nodes.map((node) => manageNode(node, input, surge));
  const delays = each.flatMap(({ delayMs }) => (delayMs === undefined ? [] : [delayMs]));
  const managed: Changes = {
    create: each.flatMap(({ create }) => create),
    remove: [...each.flatMap(({ remove }) => remove), ...lost.filter(({ deleting }) => !deleting)],
    failed: each.flatMap(({ failed }) => failed),
    ...(delays.length === 0 ? {} : { delayMs: Math.min(...delays) }),
  };
  if (daemon.onDelete || managed.create.length > 0 || managed.remove.length > 0) return managed;
  const rolled = nodes.filter(({ starts, pods }) => starts || pods.length > 0);
  const changes = surge
    ? rollBySurge(rolled, input, limits.maxSurge)
    : { ...managed, remove: rollByDeleting(rolled, input, limits.maxUnavailable) };
  return { ...managed, ...changes };
}

export function decideDaemons(input: DaemonInput): DaemonPlan {
  const { daemon, nodes, nowMs } = input;
  const { create, remove, failed, delayMs } = changesOf(input);
  const readyMs = untilAvailableMs(
    nodes.flatMap(({ pods }) => pods),
    daemon.minReadySeconds,
    nowMs,
  );
  const times = [delayMs, readyMs].filter((time) => time !== undefined);
  return {
    create,
    remove,
    failed,
    status: statusOf(input),
    ...(times.length === 0 ? {} : { recheckMs: Math.min(...times) }),
  };
}
