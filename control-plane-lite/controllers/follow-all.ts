/** Follows every served resource, including those that are added later. */
import type { Cache, CacheChange, WatchHandle } from '../cache/contract.ts';
import type { Resource } from '../resources/contract.ts';
import type { ResourceRegistry } from '../resources/registry.ts';

export interface FollowAll {
  /** Whether changes of objects stored under the prefix are seen. */
  follows(prefix: string): boolean;
  close(): void;
}

export interface FollowAllOptions {
  readonly registry: ResourceRegistry;
  readonly cache: Pick<Cache, 'resource'>;
  readonly wanted: (resource: Resource) => boolean;
  /** Called with the state first, then with every change. */
  readonly onChange: (resource: Resource, change: CacheChange) => void;
  /** The resource is no longer served. */
  readonly onForget?: (prefix: string) => void;
}

/** Resources whose objects are stored under their own version and can be listed and deleted. */
export const isCollectable = ({ info, stored }: Resource): boolean =>
  stored === undefined && info.verbs.includes('delete') && info.verbs.includes('list');

export function followAll(options: FollowAllOptions): FollowAll {
  const { registry, cache, wanted, onChange, onForget } = options;
  const followed = new Map<string, WatchHandle>();
  let served = new Map<string, Resource>();

  function adjust(): void {
    served = new Map(
      registry
        .all()
        .filter(wanted)
        .map((each) => [each.storage.prefix, each]),
    );
    for (const [prefix, handle] of followed) {
      if (served.has(prefix)) continue;
      handle.close();
      followed.delete(prefix);
      onForget?.(prefix);
    }
    for (const [prefix, resource] of served) {
      if (followed.has(prefix)) continue;
      followed.set(
        prefix,
        // The resource as it is served by then: that of a definition may have changed.
        cache.resource(resource.storage).follow((change) => onChange(served.get(prefix) ?? resource, change)),
      );
    }
  }

  adjust();
  const stop = registry.onChange(adjust);
  return {
    follows: (prefix) => followed.has(prefix),
    close() {
      stop();
      for (const handle of followed.values()) handle.close();
      followed.clear();
    },
  };
}
