/** Creates, updates and deletes ReplicaSets for a Deployment. */
import { copyJson } from '#api/codec/copy-json.ts';
import type { ReplicaSet } from '#api/gen/apps-v1.ts';
import { StatusError } from '#api/meta/status-error.ts';
import type { ApiObject, Resource } from '../../resources/contract.ts';
import { membersOf, typed } from '../../resources/view.ts';
import type { ObjectRef } from '../../verbs/contract.ts';
import { unlessGone } from '../../verbs/unless-gone.ts';
import { controllerReference } from '../workloads-kit/claim.ts';
import type { ControllerClient } from '../workloads-kit/controller-base.ts';
import { NameTakenError } from '../workloads-kit/name-taken.ts';
import { changeObject } from '../workloads-kit/write-status.ts';
import { type ReplicaSetFacts, sameTemplate } from './model.ts';

export interface SetWriter {
  /** @throws StatusError, NameTakenError */
  create(deployment: ApiObject, set: ReplicaSetFacts): Promise<void>;
  /** Updates `from` to `to` where they differ. @throws StatusError */
  change(
    deployment: ApiObject,
    before: ReplicaSetFacts,
    after: ReplicaSetFacts,
    expect: () => void,
  ): Promise<void>;
  /** @throws StatusError */
  remove(namespace: string, set: ReplicaSetFacts): Promise<void>;
}

export interface SetWriterDeps extends ControllerClient {
  /** Resource of Deployments. */
  readonly owners: Resource;
  /** Resource of ReplicaSets. */
  readonly resource: Resource;
}

function newSet({ owners, resource }: SetWriterDeps, deployment: ApiObject, set: ReplicaSetFacts): ApiObject {
  const object: ApiObject = {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: {
      name: set.name,
      namespace: deployment.metadata.namespace ?? '',
      labels: { ...set.template.metadata?.labels },
      annotations: { ...set.annotations },
      ownerReferences: [controllerReference(owners, deployment)],
    },
    spec: copyJson({
      replicas: set.replicas,
      ...(set.minReadySeconds === 0 ? {} : { minReadySeconds: set.minReadySeconds }),
      selector: set.selector,
      template: set.template,
    }),
  };
  resource.schema.applyDefaults(object);
  return object;
}

const recordScaled = (
  { events }: ControllerClient,
  deployment: ApiObject,
  from: number,
  { name, replicas }: ReplicaSetFacts,
): void =>
  events.record(
    deployment,
    'Normal',
    'ScalingReplicaSet',
    `Scaled ${replicas > from ? 'up' : 'down'} replica set ${name} to ${replicas}`,
  );

/** Reports whether the existing object is the one to create: created earlier by this controller, but not yet
 *  in the cache. */
async function isOurs(
  { verbs }: SetWriterDeps,
  ref: ObjectRef,
  deployment: ApiObject,
  set: ReplicaSetFacts,
): Promise<boolean> {
  const found = (await verbs.get(ref)).object();
  const controller = found.metadata.ownerReferences?.find((reference) => reference.controller === true);
  const template = typed<ReplicaSet>(found).spec?.template ?? {};
  return controller?.uid === deployment.metadata.uid && sameTemplate(template, set.template);
}

function applyChange(draft: ApiObject, before: ReplicaSetFacts, after: ReplicaSetFacts): void {
  const changed = Object.entries(after.annotations).filter(
    ([name, text]) => before.annotations[name] !== text,
  );
  draft.metadata.annotations = { ...draft.metadata.annotations, ...Object.fromEntries(changed) };
  const spec = membersOf(draft, 'spec');
  if (before.replicas !== after.replicas) spec['replicas'] = after.replicas;
  if (after.minReadySeconds !== 0) spec['minReadySeconds'] = after.minReadySeconds;
  else delete spec['minReadySeconds'];
}

const isSame = (before: ReplicaSetFacts, after: ReplicaSetFacts): boolean =>
  before.replicas === after.replicas &&
  before.minReadySeconds === after.minReadySeconds &&
  Object.entries(after.annotations).every(([name, text]) => before.annotations[name] === text);

export function createSetWriter(deps: SetWriterDeps): SetWriter {
  const { verbs, caller, fieldManager, resource } = deps;
  const refTo = (namespace: string, name: string): ObjectRef => ({ resource, namespace, name });
  return {
    async create(deployment, set) {
      const ref = refTo(deployment.metadata.namespace ?? '', set.name);
      try {
        await verbs.create({
          ref,
          object: newSet(deps, deployment, set),
          dryRun: false,
          fieldManager,
          caller,
        });
      } catch (thrown) {
        if (!(thrown instanceof StatusError && thrown.reason === 'AlreadyExists')) throw thrown;
        if (!(await isOurs(deps, ref, deployment, set)))
          throw new NameTakenError(`ReplicaSet ${set.name}`, thrown);
        return;
      }
      if (set.replicas > 0) recordScaled(deps, deployment, 0, set);
    },
    async change(deployment, before, after, expect) {
      if (isSame(before, after)) return;
      expect();
      const ref = refTo(deployment.metadata.namespace ?? '', after.name);
      await changeObject(deps, ref, after.uid, (draft) => applyChange(draft, before, after));
      if (before.replicas !== after.replicas) recordScaled(deps, deployment, before.replicas, after);
    },
    remove: (namespace, { name, uid }) =>
      unlessGone(() =>
        verbs.delete({ ref: refTo(namespace, name), dryRun: false, preconditions: { uid }, caller }),
      ),
  };
}
