/** DaemonSet controller: runs one pod on every eligible node. The scheduler binds them. */

import type { DaemonSet, DaemonSetStatus } from '#api/gen/apps-v1.ts';
import type { PodTemplateSpec } from '#api/gen/core-v1.ts';
import { createBackoff } from '#api/kit/backoff.ts';
import { asError } from '#api/kit/errno.ts';
import type { ApiObject, Resource } from '../../resources/contract.ts';
import { membersOf, typed } from '../../resources/view.ts';
import { type Controller, defineController } from '../skeleton/declaration.ts';
import { type Children, createChildren } from '../workloads-kit/children.ts';
import { controllerReference } from '../workloads-kit/claim.ts';
import {
  type ControllerBase,
  claimChildren,
  createControllerBase,
  followOwned,
  refOf,
} from '../workloads-kit/controller-base.ts';
import { NameTakenError } from '../workloads-kit/name-taken.ts';
import { isNamespaceEnding } from '../workloads-kit/namespace-ending.ts';
import { createNodes, type Nodes } from '../workloads-kit/nodes.ts';
import type { Owner } from '../workloads-kit/owners.ts';
import type { PodFacts } from '../workloads-kit/pod-facts.ts';
import { createPodWriter, type PodWriter, podFromTemplate } from '../workloads-kit/pod-writer.ts';
import {
  createRevisionWriter,
  decideRevision,
  hashOf,
  outdatedRevisions,
  REVISION_LABEL,
  type RevisionFacts,
  type RevisionWriter,
  revisionFacts,
} from '../workloads-kit/revisions.ts';
import { sameStatus } from '../workloads-kit/same-status.ts';
import { slowStart } from '../workloads-kit/slow-start.ts';
import { writeStatus } from '../workloads-kit/write-status.ts';
import { type DaemonFacts, type DaemonNode, type DaemonPlan, decideDaemons } from './decide.ts';
import { affinityFor, daemonTolerations, decideEligibility, targetNode } from './pods.ts';

interface Parts extends ControllerBase {
  readonly podResource: Resource;
  readonly revisionResource: Resource;
  readonly pods: Children<PodFacts>;
  readonly revisions: Children<RevisionFacts>;
  readonly nodes: Nodes;
  readonly writer: PodWriter;
  readonly revisionWriter: RevisionWriter;
  readonly failures: ReturnType<typeof createBackoff>;
}

/** Pods created or deleted per reconciliation; the rest follows. */
const BURST = 250;
const DEFAULT_HISTORY = 10;
/** Backoff of a pod that fails repeatedly on its node. */
const FAILURES = { initialMs: 1000, maxMs: 15 * 60_000 };

const templateOf = (object: ApiObject): PodTemplateSpec => typed<DaemonSet>(object).spec?.template ?? {};

function factsOf(object: ApiObject): DaemonFacts {
  const { spec, status } = typed<DaemonSet>(object);
  return {
    generation: object.metadata.generation ?? 0,
    minReadySeconds: spec?.minReadySeconds ?? 0,
    onDelete: spec?.updateStrategy?.type === 'OnDelete',
    maxUnavailable: spec?.updateStrategy?.rollingUpdate?.maxUnavailable,
    maxSurge: spec?.updateStrategy?.rollingUpdate?.maxSurge,
    collisionCount: status?.collisionCount,
  };
}

/** The nodes with their pods, and the pods for missing nodes. */
function groupByNode(
  { nodes, deps }: Parts,
  object: ApiObject,
  pods: readonly PodFacts[],
): { readonly nodes: readonly DaemonNode[]; readonly lost: readonly PodFacts[] } {
  const spec = templateOf(object).spec ?? { containers: [] };
  const tolerations = daemonTolerations(spec, deps.vocabulary);
  const byNode = Map.groupBy(pods, targetNode);
  const all = nodes.all().map((node) => ({
    name: node.name,
    pods: byNode.get(node.name) ?? [],
    ...decideEligibility(spec, tolerations, node),
  }));
  return { nodes: all, lost: pods.filter((pod) => pod.nodeName === '' && !nodes.has(targetNode(pod))) };
}

function podFor({ deps, resource }: Parts, object: ApiObject, hash: string, nodeName: string): ApiObject {
  const template = templateOf(object);
  const reference = controllerReference(resource, object);
  const pod = podFromTemplate(template, object, reference, { labels: { [REVISION_LABEL]: hash } });
  const spec = membersOf(pod, 'spec');
  spec['affinity'] = affinityFor(template.spec?.affinity, nodeName);
  spec['tolerations'] = daemonTolerations(template.spec ?? {}, deps.vocabulary);
  return pod;
}

/** @throws the first failure */
async function execute(parts: Parts, owner: Owner, hash: string, plan: DaemonPlan): Promise<void> {
  const { writer, client, failures, deps, queue } = parts;
  const object = owner.cached.object();
  for (const { key, namespace, name, nodeName } of plan.failed) {
    failures.fail(`${owner.uid}/${nodeName}`, deps.clock.now());
    const message = `Found failed daemon pod ${key} on node ${nodeName}, will try to kill it`;
    client.events.record(object, 'Warning', 'FailedDaemonPod', message);
    deps.log.info({ namespace, pod: name, node: nodeName }, 'Replacing failed DaemonSet pod');
  }
  const create = plan.create.slice(0, BURST);
  const remove = plan.remove.slice(0, BURST);
  if (create.length > 0 || remove.length > 0) queue.expect(owner.key);
  const made = await slowStart(create.length, (index) =>
    writer.create(object, podFor(parts, object, hash, create[index] ?? '')),
  );
  const results = await Promise.allSettled(remove.map((pod) => writer.remove(object, pod)));
  const failed = results.find((result) => result.status === 'rejected');
  if (made.error !== undefined && !isNamespaceEnding(made.error)) throw made.error;
  if (failed !== undefined) throw asError(failed.reason);
}

async function writeDaemonStatus(parts: Parts, owner: Owner, status: DaemonSetStatus): Promise<void> {
  if (sameStatus('apps/v1.DaemonSetStatus', status, typed<DaemonSet>(owner.cached.object()).status)) return;
  parts.queue.expect(owner.key);
  await writeStatus(parts.client, refOf(parts.resource, owner.cached), owner.uid, status);
}

/** Returns the label of the current revision, and the existing revisions. @throws StatusError,
 *  NameTakenError */
async function syncRevisions(
  parts: Parts,
  owner: Owner,
): Promise<{ readonly hash: string; readonly old: readonly RevisionFacts[] }> {
  const { client, resource, revisionResource, revisions: children, revisionWriter, queue } = parts;
  const object = owner.cached.object();
  const expect = (): void => queue.expect(owner.key);
  const context = { client, owners: resource, resource: revisionResource, children, expect };
  const revisions = await claimChildren(context, owner, object);
  const { status } = typed<DaemonSet>(object);
  const step = decideRevision(templateOf(object), revisions, status?.collisionCount);
  if (step.kind !== 'keep') expect();
  try {
    const { name, hash } = await revisionWriter.sync(object, templateOf(object), step);
    return { hash, old: revisions.filter((revision) => revision.name !== name) };
  } catch (thrown) {
    if (thrown instanceof NameTakenError && status !== undefined) {
      await writeDaemonStatus(parts, owner, { ...status, collisionCount: (status.collisionCount ?? 0) + 1 });
    }
    throw thrown;
  }
}

async function reconcile(parts: Parts, key: string): Promise<number | undefined> {
  const { owners, deps, resource, podResource, pods: children, client, queue, failures } = parts;
  const owner = owners.get(key);
  const object = owner?.cached.object();
  if (owner === undefined || object === undefined) return undefined;
  if (object.metadata.deletionTimestamp !== undefined) return undefined;
  const { hash, old } = await syncRevisions(parts, owner);
  const expect = (): void => queue.expect(key);
  const pods = await claimChildren(
    { client, owners: resource, resource: podResource, children, expect },
    owner,
    object,
  );
  const nowMs = deps.clock.now();
  const plan = decideDaemons({
    daemon: factsOf(object),
    ...groupByNode(parts, object, pods),
    hash,
    failureDelayMs: (nodeName) => failures.readyAt(`${owner.uid}/${nodeName}`, nowMs) - nowMs,
    nowMs,
  });
  await writeDaemonStatus(parts, owner, plan.status);
  await execute(parts, owner, hash, plan);
  const limit = typed<DaemonSet>(object).spec?.revisionHistoryLimit ?? DEFAULT_HISTORY;
  const live = new Set(pods.map(({ labels }) => labels[REVISION_LABEL]));
  for (const revision of outdatedRevisions(old, limit, (each) => live.has(hashOf(each)))) {
    expect();
    await parts.revisionWriter.remove(revision);
  }
  return plan.recheckMs;
}

export const daemonSetController: Controller = defineController({
  name: 'daemonset',
  identity: 'daemonset-controller',
  watches: ['daemonsets', 'pods', 'nodes', 'controllerrevisions'],
  writes: {
    daemonsets: { status: ['status'] },
    pods: { create: true, delete: true, update: ['metadata.ownerReferences'] },
    controllerrevisions: { create: true, delete: true, update: ['metadata.ownerReferences', 'revision'] },
  },
  recordsEvents: true,
  start(context) {
    const resource = context.resourceOf('daemonsets');
    const podResource = context.resourceOf('pods');
    const revisionResource = context.resourceOf('controllerrevisions');
    const base = createControllerBase(context, {
      resource,
      selectorOf: (object) => typed<DaemonSet>(object).spec?.selector,
    });
    const { client, owners, queue } = base;
    const pods = context.pods();
    const nodes = createNodes(context.cacheOf('nodes'), () => {
      for (const { key } of owners.all()) queue.addSoon(key);
    });
    const revisions = createChildren(context.cacheOf('controllerrevisions'), revisionFacts);
    const parts: Parts = {
      ...base,
      podResource,
      revisionResource,
      pods,
      revisions,
      nodes,
      writer: createPodWriter({ ...client, pods: podResource }),
      revisionWriter: createRevisionWriter({ ...client, owners: resource, resource: revisionResource }),
      failures: createBackoff(FAILURES),
    };
    return {
      reconcile: (key) => reconcile(parts, key),
      follows: [...followOwned(base, pods, revisions), nodes, revisions],
    };
  },
});
