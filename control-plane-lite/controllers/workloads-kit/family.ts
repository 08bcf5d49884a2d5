/** What the controllers of pods have in common, put together: who owns what, who is due, who writes. */
import type { LabelSelector } from '#api/schema/gen/meta-v1.ts';
import type { CachedObject, WatchHandle } from '../../cache/contract.ts';
import type { ApiObject, Resource } from '../../resources/contract.ts';
import type { Caller, ObjectRef } from '../../verbs/contract.ts';
import { controllerCaller } from '../caller.ts';
import type { Child, Children } from './children.ts';
import { type ClaimDeps, controllerReference, decideClaims, executeClaims } from './claim.ts';
import { findResource, managerName, type WorkloadDeps } from './deps.ts';
import { createEventRecorder, type EventRecorder } from './events.ts';
import { followChildren } from './follow-children.ts';
import { createOwners, type Owner, type Owners } from './owners.ts';
import { createKeyLoop, type KeyLoop } from './run-keys.ts';

/** A controller's own hands. */
export interface Hands extends ClaimDeps {
  readonly verbs: WorkloadDeps['verbs'];
  readonly caller: Caller;
  readonly events: EventRecorder;
  readonly fieldManager: string;
}

/** `component`: what it calls itself in events, as `replicaset-controller`. */
export function createHands(deps: WorkloadDeps, component: string, signal: AbortSignal): Hands {
  const { verbs, clock, log, vocabulary } = deps;
  const caller = controllerCaller(component, signal);
  const fieldManager = managerName(vocabulary);
  const events = createEventRecorder(
    { verbs, clock, log, caller },
    { resource: findResource(deps, 'v1', 'events'), component, fieldManager },
  );
  return { verbs, caller, events, fieldManager };
}

/** A controller of the objects of one resource, to begin with. */
export interface Family {
  readonly deps: WorkloadDeps;
  /** Resource of the owners. */
  readonly resource: Resource;
  readonly hands: Hands;
  readonly owners: Owners;
  readonly loop: KeyLoop;
  /** Works until the signal fires, then closes what it was given. Owners are due soon when one of the children that
   *  are theirs changes. */
  run(children: readonly Children<Child>[], ...followed: readonly WatchHandle[]): Promise<void>;
}

export interface FamilyOptions {
  readonly resource: Resource;
  /** What the controller calls itself in events. */
  readonly component: string;
  /** Absent: children are known by their owner alone. */
  readonly selectorOf?: (object: ApiObject) => LabelSelector | undefined;
}

/** `visit`: looks at one owner, by its key; may ask for another look by a delay in ms. */
export function createFamily(
  deps: WorkloadDeps,
  { resource, component, selectorOf = () => undefined }: FamilyOptions,
  visit: (key: string) => Promise<number | undefined>,
  signal: AbortSignal,
): Family {
  const loop = createKeyLoop(deps, visit);
  const owners = createOwners(deps.cache.resource(resource.storage), resource, {
    selectorOf,
    onChange: (key) => loop.due(key),
  });
  return {
    deps,
    resource,
    hands: createHands(deps, component, signal),
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
  readonly hands: Hands;
  /** Resource of the owner. */
  readonly owners: Resource;
  /** Resource of the children. */
  readonly resource: Resource;
  readonly children: Children<C>;
  /** Those that count at all; absent: every one. */
  readonly counts?: (child: C) => boolean;
  /** Something is about to be written. */
  readonly expect: () => void;
}

/** What an owner controls, after taking and letting go what it has to.
 *  @throws StatusError */
export async function claimChildren<C extends Child>(
  context: ClaimContext<C>,
  { uid, cached, requirements }: Owner,
  object: ApiObject,
): Promise<readonly C[]> {
  const { children, counts = () => true, owners, resource, hands } = context;
  const claims = decideClaims(
    { deleting: object.metadata.deletionTimestamp !== undefined, requirements },
    children.ofOwner(uid).filter(counts),
    children.orphansIn(cached.namespace).filter(counts),
  );
  if (claims.adopt.length === 0 && claims.release.length === 0) return claims.keep;
  context.expect();
  return executeClaims(hands, {
    owner: refOf(owners, cached),
    reference: controllerReference(owners, object),
    resource,
    claims,
  });
}
