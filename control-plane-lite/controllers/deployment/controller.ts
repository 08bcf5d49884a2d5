/** Deployment controller: moves the ReplicaSets of Deployments to the current template. */

import type { Deployment, DeploymentStatus, ReplicaSet } from '#api/gen/apps-v1.ts';
import { asError } from '#api/kit/errno.ts';
import type { ApiObject, Resource } from '../../resources/contract.ts';
import { typed } from '../../resources/view.ts';
import { type Controller, defineController } from '../skeleton/declaration.ts';
import { type Child, type Children, childFacts, createChildren } from '../workloads-kit/children.ts';
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
import { isFinished, type PodFacts } from '../workloads-kit/pod-facts.ts';
import { sameStatus } from '../workloads-kit/same-status.ts';
import { changeObject } from '../workloads-kit/write-status.ts';
import { type DeploymentPlan, decideDeployment } from './decide.ts';
import { createSetWriter, type SetWriter } from './execute.ts';
import {
  type DeploymentFacts,
  type DeploymentNames,
  deploymentFacts,
  deploymentNames,
  replicaSetFacts,
} from './model.ts';
import { failedConditions } from './progress.ts';
import { allOf } from './revisions.ts';

interface Parts extends ControllerBase {
  readonly setResource: Resource;
  readonly sets: Children<Child>;
  readonly pods: Children<PodFacts>;
  readonly writer: SetWriter;
  readonly names: DeploymentNames;
}

async function writeStatus(
  { client, resource, names, queue }: Parts,
  { cached, uid, key }: Owner,
  status: DeploymentStatus,
  revision?: string,
): Promise<void> {
  queue.expect(key);
  const change = (draft: ApiObject): void => {
    draft['status'] = status;
    if (revision === undefined) return;
    draft.metadata.annotations = { ...draft.metadata.annotations, [names.revision]: revision };
  };
  await changeObject(client, refOf(resource, cached), uid, change, 'status');
}

/** Event message for a ReplicaSet that could not be created. */
async function reportCreateFailure(
  parts: Parts,
  owner: Owner,
  deployment: DeploymentFacts,
  name: string,
  failure: Error,
): Promise<void> {
  const { status } = deployment;
  if (failure instanceof NameTakenError) {
    await writeStatus(parts, owner, { ...status, collisionCount: (status.collisionCount ?? 0) + 1 });
    return;
  }
  const message = `Failed to create new replica set ${JSON.stringify(name)}: ${failure.message}`;
  parts.client.events.record(owner.cached.object(), 'Warning', 'ReplicaSetCreateError', message);
  const nowMs = parts.deps.clock.now();
  const conditions = failedConditions(deployment, status.conditions ?? [], message, nowMs);
  await writeStatus(parts, owner, { ...status, conditions });
}

/** Returns whether the ReplicaSets match the plan now. @throws StatusError, NameTakenError */
async function executePlan(
  parts: Parts,
  owner: Owner,
  deployment: DeploymentFacts,
  { sets, remove }: DeploymentPlan,
): Promise<boolean> {
  const { writer, sets: known } = parts;
  const object = owner.cached.object();
  const expect = (): void => parts.queue.expect(owner.key);
  const { current } = sets;
  if (current?.uid === '') {
    expect();
    try {
      await writer.create(object, current);
    } catch (thrown) {
      if (isNamespaceEnding(thrown)) return false;
      await reportCreateFailure(parts, owner, deployment, current.name, asError(thrown));
      throw thrown;
    }
  }
  for (const set of allOf(sets)) {
    const child = set.uid === '' ? undefined : known.get(`${deployment.namespace}/${set.name}`);
    if (child === undefined) continue;
    const before = replicaSetFacts(typed<ReplicaSet>(child.cached.object()));
    await writer.change(object, before, set, expect);
  }
  for (const set of remove) {
    expect();
    await writer.remove(deployment.namespace, set);
  }
  return true;
}

async function reconcile(parts: Parts, key: string): Promise<number | undefined> {
  const { owners, deps, resource, setResource, sets: children, client, queue, names, pods } = parts;
  const owner = owners.get(key);
  if (owner === undefined) return undefined;
  const object = owner.cached.object();
  const expect = (): void => queue.expect(key);
  const context = { client, owners: resource, resource: setResource, children, expect };
  const claimed = await claimChildren(context, owner, object);
  const deployment = deploymentFacts(typed<Deployment>(object));
  const plan = decideDeployment({
    deployment,
    sets: claimed.map(({ cached }) => replicaSetFacts(typed<ReplicaSet>(cached.object()))),
    havePods: (uids) => uids.some((uid) => pods.ofOwner(uid).some((pod) => !isFinished(pod))),
    names,
    nowMs: deps.clock.now(),
  });
  if (!(await executePlan(parts, owner, deployment, plan))) return undefined;
  if (
    plan.revision !== undefined ||
    !sameStatus('apps/v1.DeploymentStatus', plan.status, deployment.status)
  ) {
    await writeStatus(parts, owner, plan.status, plan.revision);
  }
  return plan.recheckMs;
}

/** Deployments with strategy Recreate wait for the last of the old pods. */
function followPods({ pods, sets, owners, queue }: Parts): ReturnType<Children<PodFacts>['onChange']> {
  return pods.onChange(({ previous, current }) => {
    const ended = current === undefined || isFinished(current);
    if (previous?.owner === undefined || !ended || isFinished(previous)) return;
    const set = sets.get(`${previous.namespace}/${previous.owner.name}`);
    const owner = set?.uid === previous.owner.uid ? owners.byReference(set.owner) : undefined;
    if (owner === undefined) return;
    if (deploymentFacts(typed<Deployment>(owner.cached.object())).recreate) queue.addSoon(owner.key);
  });
}

export const deploymentController: Controller = defineController({
  name: 'deployment',
  identity: 'deployment-controller',
  watches: ['deployments', 'replicasets', 'pods'],
  writes: {
    deployments: { status: ['status', 'metadata.annotations'] },
    replicasets: {
      create: true,
      delete: true,
      update: ['metadata.ownerReferences', 'metadata.annotations', 'spec.replicas', 'spec.minReadySeconds'],
    },
  },
  recordsEvents: true,
  start(context) {
    const resource = context.resourceOf('deployments');
    const setResource = context.resourceOf('replicasets');
    const base = createControllerBase(context, {
      resource,
      selectorOf: (object) => typed<Deployment>(object).spec?.selector,
    });
    const parts: Parts = {
      ...base,
      setResource,
      sets: createChildren(context.cacheOf('replicasets'), childFacts),
      pods: context.pods(),
      writer: createSetWriter({ ...base.client, owners: resource, resource: setResource }),
      names: deploymentNames(context.vocabulary),
    };
    return {
      reconcile: (key) => reconcile(parts, key),
      follows: [...followOwned(base, parts.sets), parts.sets, followPods(parts)],
    };
  },
});
