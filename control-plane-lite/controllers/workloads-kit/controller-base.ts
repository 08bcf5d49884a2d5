/** Shared base of the controllers of pods: ownership index and API client. */
import type { LabelSelector } from '#api/gen/meta-v1.ts';
import type { CachedObject, WatchHandle } from '../../cache/contract.ts';
import type { ApiObject, Resource } from '../../resources/contract.ts';
import type { Caller, ObjectRef } from '../../verbs/contract.ts';
import { controllerCaller } from '../../verbs/controller-caller.ts';
import type { Child, Children } from './children.ts';
import { type ClaimDeps, controllerReference, decideClaims, executeClaims } from './claim.ts';
import { managerName, type WorkloadDeps } from './deps.ts';
import { createEventRecorder, type EventRecorder } from './events.ts';
import { followChildren } from './follow-children.ts';
import { createOwners, type Owner, type Owners } from './owners.ts';
import type { KeyQueue } from './run-keys.ts';

/** API client of one controller: verbs, identity and event recorder. */
export interface ControllerClient extends ClaimDeps {
  readonly verbs: WorkloadDeps['verbs'];
  readonly caller: Caller;
  readonly events: EventRecorder;
  readonly fieldManager: string;
}

export interface ClientOptions {
  /** User name suffix and component of events, such as `replicaset-controller`. */
  readonly component: string;
  readonly recordsEvents: boolean;
  /** managedFields carry the component instead of the shared name. */
  readonly ownFieldManager: boolean;
}

export function createControllerClient(
  deps: WorkloadDeps,
  { component, recordsEvents, ownFieldManager }: ClientOptions,
  signal: AbortSignal,
): ControllerClient {
  const { verbs, clock, log, vocabulary } = deps;
  const caller = controllerCaller(component, signal);
  const fieldManager = ownFieldManager ? component : managerName(vocabulary);
  const resource = recordsEvents ? deps.registry.find('', 'v1', 'events') : undefined;
  const events = createEventRecorder({ verbs, clock, log, caller }, { resource, component, fieldManager });
  return { verbs, caller, events, fieldManager };
}

/** Dependencies of the base: the context of a controller. */
export interface BaseContext extends WorkloadDeps {
  readonly client: ControllerClient;
  readonly queue: KeyQueue;
}

/** Base of a controller for the objects of one resource. */
export interface ControllerBase {
  readonly deps: WorkloadDeps;
  /** Resource of the owners. */
  readonly resource: Resource;
  readonly client: ControllerClient;
  readonly owners: Owners;
  readonly queue: KeyQueue;
}

export interface ControllerBaseOptions {
  readonly resource: Resource;
  /** Absent: children are found by owner reference alone. */
  readonly selectorOf?: (object: ApiObject) => LabelSelector | undefined;
}

/** Follows the owners, and queues each that was added, changed or deleted. */
export function createControllerBase(
  context: BaseContext,
  { resource, selectorOf = () => undefined }: ControllerBaseOptions,
): ControllerBase {
  const { cache, client, queue } = context;
  const owners = createOwners(cache.resource(resource.storage), resource, {
    selectorOf,
    onChange: (key) => queue.add(key),
  });
  return { deps: context, resource, client, owners, queue };
}

/** Queues the owner of each changed child after a short delay. Returns the subscriptions, the base's own
 *  included. */
export const followOwned = (
  { owners, queue }: ControllerBase,
  ...children: readonly Children<Child>[]
): readonly WatchHandle[] => [
  owners,
  ...children.map((each) => followChildren(each, owners, (key) => queue.addSoon(key))),
];

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
