/** Maintains the number of pods of ReplicaSets and ReplicationControllers. */

import type { ReplicaSet, ReplicaSetStatus } from '#api/gen/apps-v1.ts';
import type { PodTemplateSpec, ReplicationController } from '#api/gen/core-v1.ts';
import type { LabelSelector } from '#api/gen/meta-v1.ts';
import { asError } from '#api/kit/errno.ts';
import { formatTime } from '#api/meta/time.ts';
import type { ApiObject, Resource } from '../../resources/contract.ts';
import { typed } from '../../resources/view.ts';
import {
  type Controller,
  type ControllerContext,
  defineController,
  type Reconciler,
} from '../skeleton/declaration.ts';
import type { Children } from '../workloads-kit/children.ts';
import { controllerReference } from '../workloads-kit/claim.ts';
import {
  type ControllerBase,
  claimChildren,
  createControllerBase,
  followOwned,
  refOf,
} from '../workloads-kit/controller-base.ts';
import type { WorkloadDeps } from '../workloads-kit/deps.ts';
import { isNamespaceEnding } from '../workloads-kit/namespace-ending.ts';
import type { Owner } from '../workloads-kit/owners.ts';
import { isActive, type PodFacts } from '../workloads-kit/pod-facts.ts';
import { createPodWriter, type PodWriter, podFromTemplate } from '../workloads-kit/pod-writer.ts';
import { sameStatus } from '../workloads-kit/same-status.ts';
import { slowStart } from '../workloads-kit/slow-start.ts';
import { writeStatus } from '../workloads-kit/write-status.ts';
import {
  choosePodsToRemove,
  decideReplicas,
  type ReplicaFailure,
  type ReplicaSpec,
  replicaStatus,
  untilChangeMs,
} from './decide.ts';

interface Parts extends ControllerBase {
  readonly podResource: Resource;
  readonly pods: Children<PodFacts>;
  readonly writer: PodWriter;
}

const specOf = (object: ApiObject): ReplicaSpec & { readonly template: PodTemplateSpec } => {
  const { replicas = 0, minReadySeconds = 0, template = {} } = typed<ReplicaSet>(object).spec ?? {};
  return { replicas, minReadySeconds, template, templateLabels: template.metadata?.labels ?? {} };
};

function deletionCostOf({ vocabulary, gates }: WorkloadDeps, { cached }: PodFacts): number {
  if (!gates.has('PodDeletionCost')) return 0;
  const text = cached.object().metadata.annotations?.[`controller.${vocabulary.domain}/pod-deletion-cost`];
  return text !== undefined && /^-?\d{1,10}$/.test(text) ? Number(text) : 0;
}

/** Active pods per node of all ReplicaSets with the same controller: of all revisions of a Deployment. */
function neighbourCounts(
  { pods, owners }: Parts,
  owner: Owner,
  object: ApiObject,
): ReadonlyMap<string, number> {
  const above = object.metadata.ownerReferences?.find(({ controller }) => controller === true);
  const uids =
    above === undefined
      ? [owner.uid]
      : [...owners.all()]
          .filter(
            ({ namespace, cached }) =>
              namespace === owner.namespace &&
              (cached.object().metadata.ownerReferences ?? []).some(({ uid }) => uid === above.uid),
          )
          .map(({ uid }) => uid);
  const counts = new Map<string, number>();
  for (const pod of uids.flatMap((uid) => pods.ofOwner(uid)).filter(isActive)) {
    counts.set(pod.nodeName, (counts.get(pod.nodeName) ?? 0) + 1);
  }
  return counts;
}

async function createPods(
  parts: Parts,
  object: ApiObject,
  count: number,
): Promise<ReplicaFailure | undefined> {
  const { writer, resource } = parts;
  const { template } = specOf(object);
  const reference = controllerReference(resource, object);
  const { error } = await slowStart(count, () =>
    writer.create(object, podFromTemplate(template, object, reference)),
  );
  if (error === undefined || isNamespaceEnding(error)) return undefined;
  return { reason: 'FailedCreate', message: error.message };
}

async function removePods(
  parts: Parts,
  owner: Owner,
  object: ApiObject,
  pods: readonly PodFacts[],
  count: number,
): Promise<ReplicaFailure | undefined> {
  const neighbours = neighbourCounts(parts, owner, object);
  const leaving = choosePodsToRemove(pods, count, {
    nowMs: parts.deps.clock.now(),
    logarithmic: parts.deps.gates.has('LogarithmicScaleDown'),
    deletionCost: (pod) => deletionCostOf(parts.deps, pod),
    neighbours: (nodeName) => neighbours.get(nodeName) ?? 0,
  });
  const results = await Promise.allSettled(leaving.map((pod) => parts.writer.remove(object, pod)));
  const failed = results.find((result) => result.status === 'rejected');
  return failed === undefined
    ? undefined
    : { reason: 'FailedDelete', message: asError(failed.reason).message };
}

async function replicate(
  parts: Parts,
  owner: Owner,
  object: ApiObject,
  pods: readonly PodFacts[],
): Promise<ReplicaFailure | undefined> {
  const missing = decideReplicas(specOf(object).replicas, pods.length);
  if (missing === 0 || object.metadata.deletionTimestamp !== undefined) return undefined;
  parts.queue.expect(owner.key);
  return missing > 0 ? createPods(parts, object, missing) : removePods(parts, owner, object, pods, -missing);
}

class ReplicaError extends Error {
  override readonly name = 'ReplicaError';
  readonly reason: string;
  constructor({ reason, message }: ReplicaFailure) {
    super(message);
    this.reason = reason;
  }
}

async function reconcile(parts: Parts, key: string): Promise<number | undefined> {
  const { owners, deps, resource, podResource, pods: children, client, queue } = parts;
  const owner = owners.get(key);
  if (owner === undefined) return undefined;
  const object = owner.cached.object();
  const expect = (): void => queue.expect(key);
  const context = { client, owners: resource, resource: podResource, children, counts: isActive, expect };
  const pods = await claimChildren(context, owner, object);
  const failure = await replicate(parts, owner, object, pods);
  const nowMs = deps.clock.now();
  const before = typed<{ readonly status?: ReplicaSetStatus }>(object).status;
  const status = replicaStatus(
    specOf(object),
    pods,
    { generation: object.metadata.generation ?? 0, conditions: before?.conditions, failure },
    { nowMs, now: formatTime(nowMs) },
  );
  if (!sameStatus('apps/v1.ReplicaSetStatus', status, before)) {
    expect();
    await writeStatus(client, refOf(resource, owner.cached), owner.uid, status);
  }
  if (failure !== undefined) throw new ReplicaError(failure);
  return untilChangeMs(specOf(object), pods, nowMs);
}

/** Subscribes a controller of one of the two kinds. */
function startReplicas(
  context: ControllerContext,
  kind: 'replicasets' | 'replicationcontrollers',
  selectorOf: (object: ApiObject) => LabelSelector | undefined,
): Reconciler {
  const podResource = context.resourceOf('pods');
  const base = createControllerBase(context, { resource: context.resourceOf(kind), selectorOf });
  const pods = context.pods();
  const writer = createPodWriter({ ...base.client, pods: podResource });
  const parts: Parts = { ...base, podResource, pods, writer };
  return { reconcile: (key) => reconcile(parts, key), follows: followOwned(base, pods) };
}

const POD_WRITES = { create: true, delete: true, update: ['metadata.ownerReferences'] } as const;

export const replicaSetController: Controller = defineController({
  name: 'replicaset',
  identity: 'replicaset-controller',
  watches: ['replicasets', 'pods'],
  writes: { replicasets: { status: ['status'] }, pods: POD_WRITES },
  recordsEvents: true,
  start: (context) =>
    startReplicas(context, 'replicasets', (object) => typed<ReplicaSet>(object).spec?.selector),
});

/** The only kind whose selector is a plain map of labels. */
export const replicationController: Controller = defineController({
  name: 'replicationcontroller',
  identity: 'replication-controller',
  watches: ['replicationcontrollers', 'pods'],
  writes: { replicationcontrollers: { status: ['status'] }, pods: POD_WRITES },
  recordsEvents: true,
  start: (context) =>
    startReplicas(context, 'replicationcontrollers', (object) => ({
      matchLabels: typed<ReplicationController>(object).spec?.selector ?? {},
    })),
});
