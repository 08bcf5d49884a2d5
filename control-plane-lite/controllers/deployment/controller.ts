/** Deployment controller: moves the ReplicaSets of Deployments to the current template. */

import type { Deployment, DeploymentStatus, ReplicaSet } from '#api/gen/apps-v1.ts';
import { asError } from '#api/kit/clock.ts';
import type { ApiObject, Resource } from '../../resources/contract.ts';
import { typed } from '../../resources/view.ts';
import { type Child, type Children, childFacts, createChildren } from '../workloads-kit/children.ts';
import {
  type ControllerBase,
  claimChildren,
  createControllerBase,
  refOf,
} from '../workloads-kit/controller-base.ts';
import { findResource, type WorkloadDeps } from '../workloads-kit/deps.ts';
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
  deploymentFacts,
  deploymentNames,
  replicaSetFacts,
  type Words,
} from './model.ts';
import { failedConditions } from './progress.ts';
import { allOf } from './revisions.ts';

interface Parts extends ControllerBase {
  readonly setResource: Resource;
  readonly sets: Children<Child>;
  readonly pods: Children<PodFacts>;
  readonly writer: SetWriter;
  readonly words: Words;
}

async function writeStatus(
  { client, resource, words, loop }: Parts,
  { cached, uid, key }: Owner,
  status: DeploymentStatus,
  revision?: string,
): Promise<void> {
  loop.expect(key);
  const change = (draft: ApiObject): void => {
    draft['status'] = status;
    if (revision === undefined) return;
    draft.metadata.annotations = { ...draft.metadata.annotations, [words.revision]: revision };
  };
  await changeObject(client, refOf(resource, cached), uid, change, 'status');
}

/** Event message for a ReplicaSet that could not be created. */
async function tellFailure(
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
  const expect = (): void => parts.loop.expect(owner.key);
  const { current } = sets;
  if (current?.uid === '') {
    expect();
    try {
      await writer.create(object, current);
    } catch (thrown) {
      if (isNamespaceEnding(thrown)) return false;
      await tellFailure(parts, owner, deployment, current.name, asError(thrown));
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

async function visit(parts: Parts, key: string): Promise<number | undefined> {
  const { owners, deps, resource, setResource, sets: children, client, loop, words, pods } = parts;
  const owner = owners.get(key);
  if (owner === undefined) return undefined;
  const object = owner.cached.object();
  const expect = (): void => loop.expect(key);
  const context = { client, owners: resource, resource: setResource, children, expect };
  const claimed = await claimChildren(context, owner, object);
  const deployment = deploymentFacts(typed<Deployment>(object));
  const plan = decideDeployment({
    deployment,
    sets: claimed.map(({ cached }) => replicaSetFacts(typed<ReplicaSet>(cached.object()))),
    havePods: (uids) => uids.some((uid) => pods.ofOwner(uid).some((pod) => !isFinished(pod))),
    words,
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
function followPods({ pods, sets, owners, loop }: Parts): ReturnType<Children<PodFacts>['onChange']> {
  return pods.onChange(({ previous, current }) => {
    const ended = current === undefined || isFinished(current);
    if (previous?.owner === undefined || !ended || isFinished(previous)) return;
    const set = sets.get(`${previous.namespace}/${previous.owner.name}`);
    const owner = set?.uid === previous.owner.uid ? owners.byReference(set.owner) : undefined;
    if (owner === undefined) return;
    if (deploymentFacts(typed<Deployment>(owner.cached.object())).recreate) loop.dueSoon(owner.key);
  });
}

/** `pods`: the index that all controllers share. Runs until the signal is aborted. */
export async function runDeployments(
  deps: WorkloadDeps,
  signal: AbortSignal,
  { pods }: { readonly pods: Children<PodFacts> },
): Promise<void> {
  const resource = findResource(deps, 'apps/v1', 'deployments');
  const setResource = findResource(deps, 'apps/v1', 'replicasets');
  if (resource === undefined || setResource === undefined) return;
  const options = {
    resource,
    component: 'deployment-controller',
    selectorOf: (object: ApiObject) => typed<Deployment>(object).spec?.selector,
  };
  const base = createControllerBase(deps, options, (key) => visit(parts, key), signal);
  const sets = createChildren(deps.cache.resource(setResource.storage), childFacts);
  const writer = createSetWriter({ ...base.client, owners: resource, resource: setResource });
  const words = deploymentNames(deps.vocabulary);
  const parts: Parts = { ...base, setResource, sets, pods, writer, words };
  await base.run([sets], sets, followPods(parts));
}
