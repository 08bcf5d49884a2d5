/** Adoption and release of an owner's objects: controlled objects that match the selector stay, those that do
 *  not are released, and matching orphans are adopted. The decision is pure; the execution checks uids, so
 *  that an object that merely has the same name stays untouched. Source: upstream's controller references,
 *  release 1.24. */

import type { OwnerReference } from '#api/gen/meta-v1.ts';
import { matchesLabels, type Requirement } from '#api/meta/selectors.ts';
import { StatusError } from '#api/meta/status-error.ts';
import type { ApiObject, Resource } from '../../resources/contract.ts';
import { apiVersionOf } from '../../resources/facts.ts';
import type { Caller, ObjectRef, Verbs } from '../../verbs/contract.ts';
import { unlessGone } from '../../verbs/unless-gone.ts';
import type { Child } from './children.ts';

export interface Claims<C extends Child> {
  readonly keep: readonly C[];
  readonly adopt: readonly C[];
  readonly release: readonly C[];
}

export interface Claimer {
  readonly deleting: boolean;
  /** Empty: selects nothing. */
  readonly requirements: readonly Requirement[];
}

/** `owned`: those that name the owner as their controller; `orphans`: those of its namespace that name none. */
export function decideClaims<C extends Child>(
  { deleting, requirements }: Claimer,
  owned: readonly C[],
  orphans: readonly C[],
): Claims<C> {
  const selects = ({ labels }: C): boolean => requirements.length > 0 && matchesLabels(requirements, labels);
  return {
    keep: owned.filter(selects),
    // An owner that is being deleted neither adopts nor releases: the garbage collector takes care.
    adopt: deleting ? [] : orphans.filter((child) => !child.deleting && selects(child)),
    release: deleting ? [] : owned.filter((child) => !selects(child)),
  };
}

/** The reference by which a child names its controller. */
export const controllerReference = ({ info }: Pick<Resource, 'info'>, owner: ApiObject): OwnerReference => ({
  apiVersion: apiVersionOf(info),
  kind: info.kind,
  name: owner.metadata.name ?? '',
  uid: owner.metadata.uid ?? '',
  controller: true,
  blockOwnerDeletion: true,
});

export interface ClaimDeps {
  readonly verbs: Pick<Verbs, 'get' | 'update'>;
  readonly caller: Caller;
  readonly fieldManager: string;
}

/** Changes a child's references, if it is still the same object. */
async function changeReferences(
  { verbs, caller, fieldManager }: ClaimDeps,
  ref: ObjectRef,
  uid: string,
  change: (references: readonly OwnerReference[]) => readonly OwnerReference[],
): Promise<void> {
  const edit = (live: ApiObject): ApiObject => {
    if (live.metadata.uid !== uid) {
      throw new StatusError('NotFound', `${ref.name} was replaced by another object`);
    }
    const references = change(live.metadata.ownerReferences ?? []);
    if (references.length > 0) live.metadata.ownerReferences = references;
    else delete live.metadata.ownerReferences;
    return live;
  };
  await verbs.update({ ref, change: edit, dryRun: false, fieldManager, caller });
}

/** Makes the reference the child's controller. @throws StatusError Conflict if another controller was
 *  faster */
export const adoptChild = (
  deps: ClaimDeps,
  ref: ObjectRef,
  uid: string,
  reference: OwnerReference,
): Promise<void> =>
  changeReferences(deps, ref, uid, (references) => {
    const other = references.find(({ controller }) => controller === true);
    if (other !== undefined && other.uid !== reference.uid) {
      throw new StatusError('Conflict', `${ref.name} is controlled by ${other.kind} ${other.name}`);
    }
    return [...references.filter((each) => each.uid !== reference.uid), reference];
  });

/** Removes the owner from the child's references. */
const releaseChild = (deps: ClaimDeps, ref: ObjectRef, uid: string, ownerUid: string): Promise<void> =>
  changeReferences(deps, ref, uid, (references) => references.filter((each) => each.uid !== ownerUid));

export interface ClaimRequest<C extends Child> {
  readonly owner: ObjectRef;
  readonly reference: OwnerReference;
  /** Resource of the children. */
  readonly resource: Resource;
  readonly claims: Claims<C>;
}

/** Executes adoptions and releases; returns the objects that the owner controls afterwards. @throws
 *  StatusError Conflict if the owner itself was deleted or replaced */
export async function executeClaims<C extends Child>(
  deps: ClaimDeps,
  { owner, reference, resource, claims }: ClaimRequest<C>,
): Promise<readonly C[]> {
  const refOf = ({ namespace, name }: C): ObjectRef => ({ resource, namespace, name });
  for (const child of claims.release) {
    await unlessGone(() => releaseChild(deps, refOf(child), child.uid, reference.uid));
  }
  if (claims.adopt.length === 0) return claims.keep;
  await assertStays(deps, owner, reference.uid);
  const adopted: C[] = [];
  for (const child of claims.adopt) {
    await unlessGone(async () => {
      await adoptChild(deps, refOf(child), child.uid, reference);
      adopted.push(child);
    });
  }
  return [...claims.keep, ...adopted];
}

/** An owner that is being deleted adopts nothing: the object would be deleted with it. */
async function assertStays({ verbs }: ClaimDeps, owner: ObjectRef, uid: string): Promise<void> {
  const { metadata } = (await verbs.get(owner)).object();
  if (metadata.uid === uid && metadata.deletionTimestamp === undefined) return;
  throw new StatusError('Conflict', `${owner.name} is being deleted or was replaced by another object`);
}
