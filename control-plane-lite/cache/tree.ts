/** Which cache a key belongs to. Keys that belong to none are kept as they came, for a resource that is defined
 *  later, with their last changes: custom resources are defined after their objects were read. */

import type { FedResourceCache } from './resource-cache.ts';
import { withoutRevision, withRevision } from './stored-form.ts';
import { createUnclaimed, type Unclaimed, type UnclaimedState } from './unclaimed.ts';

export interface Tree {
  readonly resources: ReadonlyMap<string, FedResourceCache>;
  readonly unclaimed: UnclaimedState;
  /** The cache whose storage has a prefix of the key. */
  find(key: string): FedResourceCache | undefined;
  /** Adds a cache and gives it what was unclaimed, with what is known of its past. */
  claim(resource: FedResourceCache): void;
  /** Takes a cache away; its objects are unclaimed again, without their past. */
  release(prefix: string): FedResourceCache | undefined;
}

export interface TreeDeps {
  /** Told of bytes under a resource's prefix that are no object. */
  readonly onError: (error: unknown, key: string) => void;
  /** The newest revision that was applied. */
  readonly revision: () => number;
}

export function createTree(deps: TreeDeps): Tree {
  const resources = new Map<string, FedResourceCache>();
  const unclaimed = createUnclaimed();
  let last: FedResourceCache | undefined;

  function search(key: string): FedResourceCache | undefined {
    for (let at = key.indexOf('/', 1); at >= 0; at = key.indexOf('/', at + 1)) {
      const found = resources.get(key.slice(0, at + 1));
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** Puts in one value; `put` makes it a change that watches can be told of. */
  function claimItem(
    resource: FedResourceCache,
    key: string,
    { bytes, revision }: Unclaimed,
    put: 'put' | 'replace',
  ): void {
    try {
      resource[put](key.slice(resource.storage.prefix.length), revision, withRevision(bytes, revision));
    } catch (error) {
      deps.onError(error, key);
    }
  }

  return {
    resources,
    unclaimed,
    find(key) {
      // Changes come in runs of one resource.
      if (last !== undefined && key.startsWith(last.storage.prefix)) return last;
      const found = search(key);
      if (found !== undefined) last = found;
      return found;
    },
    claim(resource) {
      const { prefix } = resource.storage;
      resources.set(prefix, resource);
      const { floor, items, changes } = unclaimed.take(prefix);
      for (const [key, item] of items) claimItem(resource, key, item, 'replace');
      resource.trim((history) => history.reset(floor ?? deps.revision()));
      for (const { key, revision, bytes } of changes) {
        if (bytes === undefined) resource.remove(key.slice(prefix.length), revision);
        else claimItem(resource, key, { revision, bytes }, 'put');
      }
    },
    release(prefix) {
      const resource = resources.get(prefix);
      resources.delete(prefix);
      if (last === resource) last = undefined;
      for (const { key, revision, json } of resource?.all() ?? []) {
        unclaimed.replace(prefix + key, { revision, bytes: withoutRevision(json) });
      }
      unclaimed.released(prefix, deps.revision());
      // What is forgotten holds no memory of the past any more.
      resource?.trim((history) => history.reset(deps.revision()));
      return resource;
    },
  };
}
