/** Owners of one resource with their selectors by namespace. Follows the cache. */

import type { LabelSelector, OwnerReference } from '#api/gen/meta-v1.ts';
import { matchesLabels, type Requirement, selectorRequirements } from '#api/meta/selectors.ts';
import type { CachedObject, ResourceCache, WatchHandle } from '../../cache/contract.ts';
import type { ApiObject, Resource } from '../../resources/contract.ts';
import { apiVersionOf } from '../../resources/facts.ts';

export interface Owner {
  readonly key: string;
  readonly uid: string;
  readonly namespace: string;
  /** Empty: selects nothing. */
  readonly requirements: readonly Requirement[];
  readonly cached: CachedObject;
}

export interface Owners extends WatchHandle {
  get(key: string): Owner | undefined;
  byUid(uid: string): Owner | undefined;
  /** The owner that a reference names, if it is one of these. */
  byReference(reference: OwnerReference | undefined): Owner | undefined;
  /** Those in the namespace that select the labels. */
  matching(namespace: string, labels: Readonly<Record<string, string>>): readonly Owner[];
  all(): Iterable<Owner>;
}

export interface OwnersOptions {
  readonly selectorOf: (object: ApiObject) => LabelSelector | undefined;
  /** Called for each added, changed or deleted owner. */
  readonly onChange: (key: string) => void;
}

const isEmpty = ({ matchLabels = {}, matchExpressions = [] }: LabelSelector): boolean =>
  Object.keys(matchLabels).length === 0 && matchExpressions.length === 0;

/** Requirements of a selector; one that would match everything matches nothing. */
const requirementsFor = (selector: LabelSelector | undefined): readonly Requirement[] =>
  selector === undefined || isEmpty(selector) ? [] : selectorRequirements(selector);

export function createOwners(
  cache: Pick<ResourceCache, 'follow'>,
  resource: Pick<Resource, 'info'>,
  { selectorOf, onChange }: OwnersOptions,
): Owners {
  const byKey = new Map<string, Owner>();
  const uids = new Map<string, Owner>();
  const namespaces = new Map<string, Set<Owner>>();
  const { kind } = resource.info;
  const group = apiVersionOf(resource.info).split('/').slice(0, -1).join('/');

  function forget(owner: Owner | undefined): void {
    if (owner === undefined) return;
    byKey.delete(owner.key);
    uids.delete(owner.uid);
    const members = namespaces.get(owner.namespace);
    members?.delete(owner);
    if (members?.size === 0) namespaces.delete(owner.namespace);
  }

  function keep(cached: CachedObject): void {
    const object = cached.object();
    const { key, namespace } = cached;
    const requirements = requirementsFor(selectorOf(object));
    const owner = { key, namespace, uid: object.metadata.uid ?? '', requirements, cached };
    byKey.set(key, owner);
    uids.set(owner.uid, owner);
    const members = namespaces.get(namespace);
    if (members === undefined) namespaces.set(namespace, new Set([owner]));
    else members.add(owner);
  }

  const following = cache.follow(({ type, current }) => {
    forget(byKey.get(current.key));
    if (type !== 'DELETED') keep(current);
    onChange(current.key);
  });

  return {
    get: (key) => byKey.get(key),
    byUid: (uid) => uids.get(uid),
    byReference(reference) {
      if (reference?.kind !== kind) return undefined;
      if (reference.apiVersion.split('/').slice(0, -1).join('/') !== group) return undefined;
      return uids.get(reference.uid);
    },
    matching: (namespace, labels) =>
      [...(namespaces.get(namespace) ?? [])].filter(
        ({ requirements }) => requirements.length > 0 && matchesLabels(requirements, labels),
      ),
    all: () => byKey.values(),
    close: () => following.close(),
  };
}
