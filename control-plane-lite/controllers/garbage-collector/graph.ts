/** Ownership graph, updated with every change of every resource. Has no effects besides its own state. */
import { isDeepStrictEqual } from 'node:util';
import type { OwnerReference } from '#api/gen/meta-v1.ts';
import type { CacheChange, CachedObject } from '../../cache/contract.ts';
import type { Resource } from '../../resources/contract.ts';

/** Facts about an object that the collector reads. */
export interface Node {
  readonly uid: string;
  /** In the stored version. */
  readonly resource: Resource;
  readonly namespace: string;
  readonly name: string;
  readonly owners: readonly OwnerReference[];
  readonly finalizers: readonly string[];
  readonly deleting: boolean;
}

export interface OwnerGraph {
  /** Applies a change and returns the UIDs of objects to process again. */
  apply(resource: Resource, change: CacheChange): readonly string[];
  get(uid: string): Node | undefined;
  dependentsOf(uid: string): readonly Node[];
  /** Drops everything of a resource that is no longer served. */
  forget(prefix: string): void;
}

function nodeOf(resource: Resource, entry: CachedObject): Node {
  const { uid = '', ownerReferences = [], finalizers = [], deletionTimestamp } = entry.object().metadata;
  return {
    uid,
    resource,
    namespace: entry.namespace,
    name: entry.name,
    owners: ownerReferences,
    finalizers,
    deleting: deletionTimestamp !== undefined,
  };
}

/** Most objects have no owner and stay until a client deletes them. */
const mayBeCollected = ({ deleting, owners }: Node): boolean => deleting || owners.length > 0;

export function createOwnerGraph(): OwnerGraph {
  const nodes = new Map<string, Node>();
  const dependents = new Map<string, Set<string>>();

  function link(node: Node): void {
    for (const { uid } of node.owners) {
      const set = dependents.get(uid) ?? new Set<string>();
      set.add(node.uid);
      dependents.set(uid, set);
    }
  }

  function unlink(node: Node): void {
    for (const { uid } of node.owners) {
      const set = dependents.get(uid);
      set?.delete(node.uid);
      if (set?.size === 0) dependents.delete(uid);
    }
  }

  function drop(uid: string): void {
    const node = nodes.get(uid);
    if (node === undefined) return;
    nodes.delete(uid);
    unlink(node);
  }

  /** Most changes affect a status or a lease, which are irrelevant for collection. */
  const isSettled = (node: Node, before: Node): boolean =>
    !node.deleting &&
    !before.deleting &&
    node.owners.every(({ uid }) => nodes.has(uid)) &&
    isDeepStrictEqual(node.owners, before.owners) &&
    isDeepStrictEqual(node.finalizers, before.finalizers);

  const around = (node: Node): readonly string[] => [
    ...(dependents.get(node.uid) ?? []),
    ...node.owners.map(({ uid }) => uid).filter((uid) => nodes.has(uid)),
  ];

  return {
    apply(resource, change) {
      const node = nodeOf(resource, change.current);
      const before = nodes.get(node.uid);
      drop(node.uid);
      if (change.type === 'DELETED')
        return before === undefined ? around(node) : [...around(node), ...around(before)];
      nodes.set(node.uid, node);
      link(node);
      if (before !== undefined && isSettled(node, before)) return [];
      // Owners wait for dependents that are deleted or no longer refer to them.
      const left =
        before === undefined ? [] : before.owners.map(({ uid }) => uid).filter((uid) => nodes.has(uid));
      const waits = node.deleting && (node.finalizers.length > 0 || before?.deleting !== true);
      const own = mayBeCollected(node) ? [node.uid] : [];
      return [...own, ...left, ...(waits ? around(node) : [])];
    },
    get: (uid) => nodes.get(uid),
    dependentsOf: (uid) => [...(dependents.get(uid) ?? [])].flatMap((each) => nodes.get(each) ?? []),
    forget(prefix) {
      for (const node of nodes.values()) {
        if (node.resource.storage.prefix === prefix) drop(node.uid);
      }
    },
  };
}
