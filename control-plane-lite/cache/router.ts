/** Routes keys to the caches of their resources. Unowned keys are retained unparsed with their last changes,
 *  for a resource that is defined later: custom resources are defined after their objects were read. */

import type { FedResourceCache } from './resource-cache.ts';
import { withoutRevision, withRevision } from './state/stored-form.ts';
import { createUnowned, type Unowned, type UnownedState } from './state/unowned.ts';

export interface Router {
  readonly resources: ReadonlyMap<string, FedResourceCache>;
  readonly unowned: UnownedState;
  /** The cache whose storage prefix matches the key. */
  find(key: string): FedResourceCache | undefined;
  /** Adds a cache and hands it the unowned keys below its prefix, with their known history. */
  claim(resource: FedResourceCache): void;
  /** Removes a cache; its objects become unowned, without their history. */
  release(prefix: string): FedResourceCache | undefined;
}

export interface RouterDeps {
  /** Called for bytes under a resource's prefix that cannot be decoded. */
  readonly onError: (error: unknown, key: string) => void;
  /** The newest applied revision. */
  readonly revision: () => number;
}

export function createRouter(deps: RouterDeps): Router {
  const resources = new Map<string, FedResourceCache>();
  const unowned = createUnowned();
  let last: FedResourceCache | undefined;

  function search(key: string): FedResourceCache | undefined {
    for (let at = key.indexOf('/', 1); at >= 0; at = key.indexOf('/', at + 1)) {
      const found = resources.get(key.slice(0, at + 1));
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** Applies one value; `put` makes it a change that watches can see. */
  function claimItem(
    resource: FedResourceCache,
    key: string,
    { bytes, revision }: Unowned,
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
    unowned,
    find(key) {
      // Changes arrive in runs of one resource.
      if (last !== undefined && key.startsWith(last.storage.prefix)) return last;
      const found = search(key);
      if (found !== undefined) last = found;
      return found;
    },
    claim(resource) {
      const { prefix } = resource.storage;
      resources.set(prefix, resource);
      const { floor, items, changes } = unowned.take(prefix);
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
        unowned.replace(prefix + key, { revision, bytes: withoutRevision(json) });
      }
      unowned.released(prefix, deps.revision());
      // A removed cache must not count towards the budget of history.
      resource?.trim((history) => history.reset(deps.revision()));
      return resource;
    },
  };
}
