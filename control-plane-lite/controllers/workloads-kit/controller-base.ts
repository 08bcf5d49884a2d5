/** Shared base of the controllers of pods: ownership index, work queue and API client. */
import type { LabelSelector } from '#api/gen/meta-v1.ts';
import type { CachedObject, WatchHandle } from '../../cache/contract.ts';
import type { ApiObject, Resource } from '../../resources/contract.ts';
import type { Caller, ObjectRef } from '../../verbs/contract.ts';
import { controllerCaller } from '../../verbs/controller-caller.ts';
import type { Child, Children } from './children.ts';
import { type ClaimDeps, controllerReference, decideClaims, executeClaims } from './claim.ts';
import { findResource, managerName, type WorkloadDeps } from './deps.ts';
import { createEventRecorder, type EventRecorder } from './events.ts';
import { followChildren } from './follow-children.ts';
import { createOwners, type Owner, type Owners } from './owners.ts';
import { createKeyLoop, type KeyLoop } from './run-keys.ts';

/** API client of one controller: verbs, identity and event recorder. */
export interface ControllerClient extends ClaimDeps {
  readonly verbs: WorkloadDeps['verbs'];
  readonly caller: Caller;
  readonly events: EventRecorder;
  readonly fieldManager: string;
}

/** `component`: name in events, such as `replicaset-controller`. */
export function createControllerClient(
  deps: WorkloadDeps,
  component: string,
  signal: AbortSignal,
): ControllerClient {
  const { verbs, clock, log, vocabulary } = deps;
  const caller = controllerCaller(component, signal);
  const fieldManager = managerName(vocabulary);
  const events = createEventRecorder(
    { verbs, clock, log, caller },
    { resource: findResource(deps, 'v1', 'events'), component, fieldManager },
  );
  return { verbs, caller, events, fieldManager };
}

/** Base of a controller for the objects of one resource. */
export interface ControllerBase {
  readonly deps: WorkloadDeps;
  /** Resource of the owners. */
  readonly resource: Resource;
  readonly client: ControllerClient;
  readonly owners: Owners;
  readonly loop: KeyLoop;
  /** Runs until the signal is aborted, then closes its subscriptions. A change of an owned child queues its
   *  owner after a short delay. */
  run(children: readonly Children<Child>[], ...followed: readonly WatchHandle[]): Promise<void>;
}

export interface ControllerBaseOptions {
  readonly resource: Resource;
  /** Component name in events. */
  readonly component: string;
  /** Absent: children are found by owner reference alone. */
  readonly selectorOf?: (object: ApiObject) => LabelSelector | undefined;
}

/** `visit`: reconciles one owner by its key; may request another run by returning a delay in ms. */
export function createControllerBase(
  deps: WorkloadDeps,
  { resource, component, selectorOf = () => undefined }: ControllerBaseOptions,
  visit: (key: string) => Promise<number | undefined>,
  signal: AbortSignal,
): ControllerBase {
  const loop = createKeyLoop(deps, visit);
  const owners = createOwners(deps.cache.resource(resource.storage), resource, {
    selectorOf,
    onChange: (key) => loop.due(key),
  });
  return {
    deps,
    resource,
    client: createControllerClient(deps, component, signal),
    owners,
    loop,
    run(children, ...followed) {
      const due = (key: string): void => loop.dueSoon(key);
      const following = children.map((each) => followChildren(each, owners, due));
      return loop.run(signal, owners, ...following, ...followed);
    },
  };
}

export const refOf = (
  resource: Resource,
  { namespace, name }: Pick<CachedObject, 'namespace' | 'name'>,
): ObjectRef => ({ resource, namespace, name });

export interface ClaimContext<C extends Child> {
  readonly client: ControllerClient;
  /** Resource of the owner. */
  readonly owners: Resource;
  /** Resource of the children. */
  readonly resource: Resource;
  readonly children: Children<C>;
  /** Filter of the relevant children; absent: all. */
  readonly counts?: (child: C) => boolean;
  /** Announces a write. */
  readonly expect: () => void;
}

/** Returns the objects that an owner controls, after adoption and release. @throws StatusError */
export async function claimChildren<C extends Child>(
  context: ClaimContext<C>,
  { uid, cached, requirements }: Owner,
  object: ApiObject,
): Promise<readonly C[]> {
  const { children, counts = () => true, owners, resource, client } = context;
  const claims = decideClaims(
    { deleting: object.metadata.deletionTimestamp !== undefined, requirements },
    children.ofOwner(uid).filter(counts),
    children.orphansIn(cached.namespace).filter(counts),
  );
  if (claims.adopt.length === 0 && claims.release.length === 0) return claims.keep;
  context.expect();
  return executeClaims(client, {
    owner: refOf(owners, cached),
    reference: controllerReference(owners, object),
    resource,
    claims,
  });
}
