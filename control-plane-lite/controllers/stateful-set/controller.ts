/** StatefulSet controller: maintains pods with stable names, created and replaced in order. */

import type { StatefulSet, StatefulSetSpec, StatefulSetStatus } from '#api/gen/apps-v1.ts';
import type { PodTemplateSpec } from '#api/gen/core-v1.ts';
import { resolveAmount } from '#api/meta/int-or-string.ts';
import type { ApiObject, Resource } from '../../resources/contract.ts';
import { typed } from '../../resources/view.ts';
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
import type { Owner } from '../workloads-kit/owners.ts';
import type { PodFacts } from '../workloads-kit/pod-facts.ts';
import { createPodWriter, type PodWriter } from '../workloads-kit/pod-writer.ts';
import {
  createRevisionWriter,
  decideRevision,
  outdatedRevisions,
  REVISION_LABEL,
  type RevisionFacts,
  type RevisionWriter,
  revisionFacts,
} from '../workloads-kit/revisions.ts';
import { sameStatus } from '../workloads-kit/same-status.ts';
import { templateOfData } from '../workloads-kit/template-form.ts';
import { changeObject, writeStatus } from '../workloads-kit/write-status.ts';
import { createStatefulClaims, type StatefulClaims } from './claims.ts';
import {
  decideStateful,
  ordinalOf,
  type StatefulAction,
  type StatefulFacts,
  type Versions,
} from './decide.ts';
import { podNameLabel, statefulPod } from './pods.ts';

interface Parts extends ControllerBase {
  readonly podResource: Resource;
  readonly revisionResource: Resource;
  readonly pods: Children<PodFacts>;
  readonly revisions: Children<RevisionFacts>;
  readonly writer: PodWriter;
  readonly revisionWriter: RevisionWriter;
  readonly claims: StatefulClaims;
}

const DEFAULT_HISTORY = 10;
const NO_SPEC: StatefulSetSpec = { selector: {}, template: {}, serviceName: '' };

const specOf = (object: ApiObject): StatefulSetSpec => typed<StatefulSet>(object).spec ?? NO_SPEC;

function factsOf(object: ApiObject, gates: ReadonlySet<string>): StatefulFacts {
  const spec = specOf(object);
  const { replicas = 1, updateStrategy = {} } = spec;
  const { partition = 0, maxUnavailable = 1 } = updateStrategy.rollingUpdate ?? {};
  const amount = gates.has('MaxUnavailableStatefulSet') ? maxUnavailable : 1;
  return {
    name: object.metadata.name ?? '',
    generation: object.metadata.generation ?? 0,
    deleting: object.metadata.deletionTimestamp !== undefined,
    replicas,
    parallel: spec.podManagementPolicy === 'Parallel',
    onDelete: updateStrategy.type === 'OnDelete',
    partition,
    maxUnavailable: Math.max(1, resolveAmount(amount, replicas, 'up') ?? 1),
    minReadySeconds: gates.has('StatefulSetMinReadySeconds') ? (spec.minReadySeconds ?? 0) : 0,
    collisionCount: typed<StatefulSet>(object).status?.collisionCount,
  };
}

/** The template of a revision. */
const templateOf = (revision: RevisionFacts | undefined, fallback: PodTemplateSpec): PodTemplateSpec =>
  templateOfData(revision?.cached.object()['data']) ?? fallback;

interface History {
  readonly versions: Versions;
  readonly revisions: readonly RevisionFacts[];
}

async function writeSetStatus(parts: Parts, owner: Owner, status: StatefulSetStatus): Promise<void> {
  if (sameStatus('apps/v1.StatefulSetStatus', status, typed<StatefulSet>(owner.cached.object()).status))
    return;
  parts.queue.expect(owner.key);
  await writeStatus(parts.client, refOf(parts.resource, owner.cached), owner.uid, status);
}

/** @throws StatusError, NameTakenError */
async function syncRevisions(parts: Parts, owner: Owner): Promise<History> {
  const { client, resource, revisionResource, revisions: children, revisionWriter, queue } = parts;
  const object = owner.cached.object();
  const expect = (): void => queue.expect(owner.key);
  const context = { client, owners: resource, resource: revisionResource, children, expect };
  const revisions = await claimChildren(context, owner, object);
  const { template } = specOf(object);
  const { status } = typed<StatefulSet>(object);
  const step = decideRevision(template, revisions, status?.collisionCount);
  if (step.kind !== 'keep') expect();
  try {
    const { name: update } = await revisionWriter.sync(object, template, step);
    const known = revisions.some(({ name }) => name === status?.currentRevision);
    return { versions: { update, current: known ? (status?.currentRevision ?? update) : update }, revisions };
  } catch (thrown) {
    if (thrown instanceof NameTakenError && status !== undefined) {
      await writeSetStatus(parts, owner, { ...status, collisionCount: (status.collisionCount ?? 0) + 1 });
    }
    throw thrown;
  }
}

async function createPod(
  parts: Parts,
  owner: Owner,
  { revisions, versions }: History,
  { ordinal, version }: { readonly ordinal: number; readonly version: string },
): Promise<void> {
  const { claims, writer, resource, queue, deps } = parts;
  const set = owner.cached.object();
  const spec = specOf(set);
  await claims.ensure(set, spec, ordinal, () => queue.expect(owner.key));
  const held = revisions.find(({ name }) => name === version);
  const pod = statefulPod({
    set,
    spec,
    reference: controllerReference(resource, set),
    ordinal,
    template: version === versions.update ? spec.template : templateOf(held, spec.template),
    version,
    vocabulary: deps.vocabulary,
  });
  queue.expect(owner.key);
  await writer.create(set, pod);
}

/** A pod that stays has the pod-name label. */
async function labelPod(parts: Parts, owner: Owner, pod: PodFacts): Promise<void> {
  const label = podNameLabel(parts.deps.vocabulary);
  if (pod.labels[label] === pod.name || pod.deleting) return;
  parts.queue.expect(owner.key);
  await changeObject(parts.client, refOf(parts.podResource, pod), pod.uid, (draft) => {
    draft.metadata.labels = { ...draft.metadata.labels, [label]: pod.name };
  });
}

async function execute(parts: Parts, owner: Owner, history: History, action: StatefulAction): Promise<void> {
  const { writer, client, queue } = parts;
  const set = owner.cached.object();
  switch (action.kind) {
    case 'create':
      return createPod(parts, owner, history, action);
    case 'keep':
      return labelPod(parts, owner, action.pod);
    case 'delete': {
      const { pod, failed } = action;
      if (failed) {
        const message = `StatefulSet ${owner.key} is recreating failed Pod ${pod.name}`;
        client.events.record(set, 'Warning', 'RecreatingFailedPod', message);
      }
      queue.expect(owner.key);
      return writer.remove(set, pod);
    }
    default:
      return action satisfies never;
  }
}

async function retainClaims(parts: Parts, owner: Owner, pods: readonly PodFacts[]): Promise<void> {
  if (!parts.deps.gates.has('StatefulSetAutoDeletePVC')) return;
  const set = owner.cached.object();
  const spec = specOf(set);
  if (set.metadata.deletionTimestamp !== undefined) return;
  for (const pod of pods) {
    const ordinal = ordinalOf(owner.cached.name, pod.name);
    await parts.claims.retain(set, spec, { ordinal, pod }, () => parts.queue.expect(owner.key));
  }
}

async function forgetRevisions(
  { queue, revisionWriter }: Parts,
  owner: Owner,
  { revisions, versions }: History,
  pods: readonly PodFacts[],
): Promise<void> {
  const limit = specOf(owner.cached.object()).revisionHistoryLimit ?? DEFAULT_HISTORY;
  const live = new Set([
    versions.current,
    versions.update,
    ...pods.map(({ labels }) => labels[REVISION_LABEL] ?? ''),
  ]);
  for (const revision of outdatedRevisions(revisions, limit, ({ name }) => live.has(name))) {
    queue.expect(owner.key);
    await revisionWriter.remove(revision);
  }
}

async function reconcile(parts: Parts, key: string): Promise<number | undefined> {
  const { owners, deps, resource, podResource, pods: children, client, queue } = parts;
  const owner = owners.get(key);
  if (owner === undefined) return undefined;
  const object = owner.cached.object();
  const counts = ({ name }: PodFacts): boolean => ordinalOf(owner.cached.name, name) >= 0;
  const expect = (): void => queue.expect(key);
  const history = await syncRevisions(parts, owner);
  const pods = await claimChildren(
    { client, owners: resource, resource: podResource, children, counts, expect },
    owner,
    object,
  );
  const nowMs = deps.clock.now();
  const plan = decideStateful({
    set: factsOf(object, deps.gates),
    versions: history.versions,
    pods,
    nowMs,
  });
  await writeSetStatus(parts, owner, plan.status);
  await retainClaims(parts, owner, pods);
  try {
    for (const action of plan.actions) await execute(parts, owner, history, action);
  } catch (thrown) {
    if (isNamespaceEnding(thrown)) return undefined;
    throw thrown;
  }
  await forgetRevisions(parts, owner, history, pods);
  return plan.recheckMs;
}

export const statefulSetController: Controller = defineController({
  name: 'statefulset',
  identity: 'statefulset-controller',
  watches: ['statefulsets', 'pods', 'persistentvolumeclaims', 'controllerrevisions'],
  writes: {
    statefulsets: { status: ['status'] },
    pods: { create: true, delete: true, update: ['metadata.ownerReferences', 'metadata.labels'] },
    persistentvolumeclaims: { create: true, update: ['metadata.ownerReferences'] },
    controllerrevisions: { create: true, delete: true, update: ['metadata.ownerReferences', 'revision'] },
  },
  recordsEvents: true,
  start(context) {
    const resource = context.resourceOf('statefulsets');
    const podResource = context.resourceOf('pods');
    const revisionResource = context.resourceOf('controllerrevisions');
    const base = createControllerBase(context, {
      resource,
      selectorOf: (object) => typed<StatefulSet>(object).spec?.selector,
    });
    const { client } = base;
    const pods = context.pods();
    const revisions = createChildren(context.cacheOf('controllerrevisions'), revisionFacts);
    const parts: Parts = {
      ...base,
      podResource,
      revisionResource,
      pods,
      revisions,
      writer: createPodWriter({ ...client, pods: podResource }),
      revisionWriter: createRevisionWriter({ ...client, owners: resource, resource: revisionResource }),
      claims: createStatefulClaims({
        ...client,
        cache: context.cacheOf('persistentvolumeclaims'),
        resource: context.resourceOf('persistentvolumeclaims'),
      }),
    };
    return {
      reconcile: (key) => reconcile(parts, key),
      follows: [...followOwned(base, pods, revisions), revisions],
    };
  },
});
