/** Index of the objects of one resource by the uid of their controller, and by namespace for objects without
 *  one. Follows the cache. One index serves any number of controllers. Stores facts, not parsed objects. */

import type { OwnerReference } from '#api/gen/meta-v1.ts';
import { createListeners } from '#api/kit/listeners.ts';
import { parseTime } from '#api/meta/time.ts';
import type { CachedObject, ResourceCache, WatchHandle } from '../../cache/contract.ts';

/** Facts about every object that may have a controller. */
export interface Child {
  readonly key: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly labels: Readonly<Record<string, string>>;
  /** The controller; absent: an orphan. */
  readonly owner?: OwnerReference;
  readonly deleting: boolean;
  readonly createdMs: number;
  readonly cached: CachedObject;
}

/** `current` absent: the object was deleted; `previous` absent: it is new. */
export interface ChildChange<C extends Child> {
  readonly previous?: C;
  readonly current?: C;
}

export interface Children<C extends Child> extends WatchHandle {
  get(key: string): C | undefined;
  all(): Iterable<C>;
  /** Those whose controller has this uid. */
  ofOwner(uid: string): readonly C[];
  /** Those in the namespace that have no controller. */
  orphansIn(namespace: string): readonly C[];
  /** Reports every change from now on, after it is indexed. */
  onChange(listener: (change: ChildChange<C>) => void): WatchHandle;
}

/** The facts that every child has. */
export function childFacts(cached: CachedObject): Child {
  const { metadata } = cached.object();
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
  return {
    key: cached.key,
    namespace: cached.namespace,
    name: cached.name,
    uid: metadata.uid ?? '',
    labels: cached.labels,
    ...(owner === undefined ? {} : { owner }),
    deleting: metadata.deletionTimestamp !== undefined,
    createdMs: metadata.creationTimestamp === undefined ? 0 : parseTime(metadata.creationTimestamp),
    cached,
  };
}

/** Sets of children by a string key. */
function createGroups<C extends Child>(): {
  add(group: string, child: C): void;
  remove(group: string, key: string): void;
  of(group: string): readonly C[];
} {
  const groups = new Map<string, Map<string, C>>();
  return {
    add(group, child) {
      const members = groups.get(group);
      if (members === undefined) groups.set(group, new Map([[child.key, child]]));
      else members.set(child.key, child);
    },
    remove(group, key) {
      const members = groups.get(group);
      members?.delete(key);
      if (members?.size === 0) groups.delete(group);
    },
    of: (group) => [...(groups.get(group)?.values() ?? [])],
  };
}

export function createChildren<C extends Child>(
  cache: Pick<ResourceCache, 'follow'>,
  read: (cached: CachedObject) => C,
): Children<C> {
  const byKey = new Map<string, C>();
  const owned = createGroups<C>();
  const orphans = createGroups<C>();
  const listeners = createListeners<[change: ChildChange<C>]>('children of workloads');

  function forget(child: C): void {
    byKey.delete(child.key);
    if (child.owner === undefined) orphans.remove(child.namespace, child.key);
    else owned.remove(child.owner.uid, child.key);
  }

  function keep(child: C): void {
    byKey.set(child.key, child);
    if (child.owner === undefined) orphans.add(child.namespace, child);
    else owned.add(child.owner.uid, child);
  }

  const following = cache.follow(({ type, current: cached }) => {
    const previous = byKey.get(cached.key);
    const current = type === 'DELETED' ? undefined : read(cached);
    if (previous !== undefined) forget(previous);
    if (current !== undefined) keep(current);
    const change: ChildChange<C> = {
      ...(previous === undefined ? {} : { previous }),
      ...(current === undefined ? {} : { current }),
    };
    listeners.notify(change);
  });

  return {
    get: (key) => byKey.get(key),
    all: () => byKey.values(),
    ofOwner: (uid) => owned.of(uid),
    orphansIn: (namespace) => orphans.of(namespace),
    onChange(listener) {
      listeners.add(listener);
      return { close: () => listeners.delete(listener) };
    },
    close() {
      following.close();
      listeners.clear();
    },
  };
}
