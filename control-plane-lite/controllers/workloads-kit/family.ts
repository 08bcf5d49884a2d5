/** What the controllers of pods have in common, put together: who owns what, who is due, who writes. */
import type { CachedObject } from '../../cache/contract.ts';
import type { ApiObject, Resource } from '../../resources/contract.ts';
import type { Caller, ObjectRef } from '../../verbs/contract.ts';
import { controllerCaller } from '../caller.ts';
import type { Child, Children } from './children.ts';
import { type ClaimDeps, controllerReference, decideClaims, executeClaims } from './claim.ts';
import { findResource, managerName, type WorkloadDeps } from './deps.ts';
import { createEventRecorder, type EventRecorder } from './events.ts';
import type { Owner } from './owners.ts';

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
