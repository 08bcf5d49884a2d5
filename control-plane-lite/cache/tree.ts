/** Which cache a key belongs to. Keys that belong to none are kept as they came, for a resource that is defined
 *  later. */

import type { FedResourceCache } from './resource-cache.ts';
import { withoutRevision, withRevision } from './stored-form.ts';

/** A value that no resource has claimed; `json`: its revision was put in already. */
export interface Unclaimed {
  readonly revision: number;
  readonly bytes: Buffer;
}

export interface Tree {
  readonly resources: ReadonlyMap<string, FedResourceCache>;
  readonly unclaimed: Map<string, Unclaimed>;
  /** The cache whose storage has a prefix of the key. */
  find(key: string): FedResourceCache | undefined;
  /** Adds a cache and gives it what was unclaimed. */
  claim(resource: FedResourceCache): void;
  /** Takes a cache away; its objects are unclaimed again. */
  release(prefix: string): FedResourceCache | undefined;
}

export interface TreeDeps {
  /** Told of bytes under a resource's prefix that are no object. */
  readonly onError: (error: unknown, key: string) => void;
}

export function createTree(deps: TreeDeps): Tree {
  const resources = new Map<string, FedResourceCache>();
  const unclaimed = new Map<string, Unclaimed>();
  let last: FedResourceCache | undefined;

  function search(key: string): FedResourceCache | undefined {
    for (let at = key.indexOf('/', 1); at >= 0; at = key.indexOf('/', at + 1)) {
      const found = resources.get(key.slice(0, at + 1));
      if (found !== undefined) return found;
    }
    return undefined;
  }

  function claimItem(resource: FedResourceCache, key: string, { bytes, revision }: Unclaimed): void {
    unclaimed.delete(key);
    try {
      resource.replace(key.slice(resource.storage.prefix.length), revision, withRevision(bytes, revision));
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
      for (const [key, item] of unclaimed) if (key.startsWith(prefix)) claimItem(resource, key, item);
    },
    release(prefix) {
      const resource = resources.get(prefix);
      resources.delete(prefix);
      if (last === resource) last = undefined;
      for (const { key, revision, json } of resource?.all() ?? []) {
        unclaimed.set(prefix + key, { revision, bytes: withoutRevision(json) });
      }
      return resource;
    },
  };
}
