/** Decisions of the garbage collector about an object, from its owners and its dependents. Pure. Source:
 *  upstream's garbage collector; garbage collection, document 1 §3. */
import type { OwnerReference } from '#api/gen/meta-v1.ts';
import { FOREGROUND_FINALIZER, ORPHAN_FINALIZER } from '../../verbs/decide-deletion.ts';
import type { Node } from './graph.ts';

export type CollectorAction =
  | { readonly kind: 'delete'; readonly propagation: 'Orphan' | 'Background' | 'Foreground' }
  /** The object no longer names these owners. */
  | { readonly kind: 'dropOwners'; readonly uids: readonly string[] }
  | { readonly kind: 'removeFinalizer'; readonly finalizer: string }
  /** Queue these again: what they wait for has changed. */
  | { readonly kind: 'revisit'; readonly uids: readonly string[] };

/** State of an owner that an object names. */
export type OwnerState =
  | 'there'
  /** Being deleted in the foreground: it waits for the object. */
  | 'waiting'
  | 'gone'
  /** Of a kind that is not served: existence is unknown. */
  | 'unknown';

export interface OwnershipView {
  readonly dependents: readonly Node[];
  /** Dependents of any object, for finding cycles of ownership. */
  readonly dependentsOf: (uid: string) => readonly Node[];
  readonly ownerState: (owner: OwnerReference) => OwnerState;
}

const blocks = (dependent: Node, owner: Node): boolean =>
  dependent.owners.some(({ uid, blockOwnerDeletion }) => uid === owner.uid && blockOwnerDeletion === true);

const isDeletingDependents = ({ deleting, finalizers }: Node): boolean =>
  deleting && finalizers.includes(FOREGROUND_FINALIZER);

/** Reports whether `dependent` itself waits for `node`, through objects that all wait in foreground deletion. Such
 *  a cycle of ownership has no first one to go: if its members waited for each other, none would ever go. */
function waitsFor(dependent: Node, node: Node, dependentsOf: OwnershipView['dependentsOf']): boolean {
  const seen = new Set<string>();
  const pending = [dependent];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (next.uid === node.uid) return true;
    if (seen.has(next.uid) || !isDeletingDependents(next)) continue;
    seen.add(next.uid);
    const owner = next;
    pending.push(...dependentsOf(owner.uid).filter((each) => blocks(each, owner)));
  }
  return false;
}

function decideDeleting(node: Node, { dependents, dependentsOf }: OwnershipView): readonly CollectorAction[] {
  if (node.finalizers.includes(ORPHAN_FINALIZER)) {
    // Each dependent drops its owner when it is reconciled; the owner is deleted after the last one.
    if (dependents.length > 0) return [{ kind: 'revisit', uids: dependents.map(({ uid }) => uid) }];
    return [{ kind: 'removeFinalizer', finalizer: ORPHAN_FINALIZER }];
  }
  if (!node.finalizers.includes(FOREGROUND_FINALIZER)) return [];
  if (!dependents.some((each) => blocks(each, node) && !waitsFor(each, node, dependentsOf))) {
    return [{ kind: 'removeFinalizer', finalizer: FOREGROUND_FINALIZER }];
  }
  return [{ kind: 'revisit', uids: dependents.filter(({ deleting }) => !deleting).map(({ uid }) => uid) }];
}

/** Propagation policy of an object without a client's request: derived from its own finalizers. */
function ownPropagation(
  node: Node,
  waiting: boolean,
  hasDependents: boolean,
): 'Orphan' | 'Background' | 'Foreground' {
  if (node.finalizers.includes(ORPHAN_FINALIZER)) return 'Orphan';
  if (node.finalizers.includes(FOREGROUND_FINALIZER) || (waiting && hasDependents)) return 'Foreground';
  return 'Background';
}

/** `orphaning`: owners that want the object to outlive them. */
export function decideCollection(
  node: Node,
  view: OwnershipView,
  orphaning: readonly string[],
): readonly CollectorAction[] {
  const own = node.deleting ? decideDeleting(node, view) : [];
  if (orphaning.length > 0) return [{ kind: 'dropOwners', uids: orphaning }, ...own];
  if (node.deleting || node.owners.length === 0) return own;
  const states = node.owners.map((owner) => ({ owner, state: view.ownerState(owner) }));
  const uids = (wanted: OwnerState): readonly string[] =>
    states.filter(({ state }) => state === wanted).map(({ owner }) => owner.uid);
  const isOwned = states.some(({ state }) => state === 'there' || state === 'unknown');
  const gone = uids('gone');
  const waiting = uids('waiting');
  if (isOwned) {
    const leaving = [...gone, ...waiting];
    return leaving.length === 0 ? [] : [{ kind: 'dropOwners', uids: leaving }];
  }
  const propagation = ownPropagation(node, waiting.length > 0, view.dependents.length > 0);
  return [{ kind: 'delete', propagation }];
}
