/** Cached services and endpoints for service resolution. */
import type { Endpoints, Service } from '#api/gen/core-v1.ts';
import type { EndpointSlice } from '#api/gen/discovery-v1.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { Cache, CacheChange, CachedObject, ResourceCache, WatchHandle } from '../cache/contract.ts';
import type { ResourceRegistry } from '../resources/registry.ts';
import { typed } from '../resources/view.ts';
import type { ServiceRef } from './api-services.ts';
import type { ServiceState } from './resolve-service.ts';

export interface ServiceSource {
  stateOf(ref: ServiceRef): ServiceState;
  close(): void;
}

export interface ServiceSourceDeps {
  readonly cache: Cache;
  readonly registry: Pick<ResourceRegistry, 'find'>;
  readonly vocabulary: Vocabulary;
  /** A service, or where its endpoints are, changed. */
  readonly onChange: (namespace: string, name: string) => void;
}

const keyOf = (namespace: string, name: string): string => `${namespace}/${name}`;

export function createServiceSource(deps: ServiceSourceDeps): ServiceSource {
  const { cache, registry, vocabulary, onChange } = deps;
  const serviceLabel = `${vocabulary.domain}/service-name`;
  const handles: WatchHandle[] = [];
  /** By service, then by key. */
  const slices = new Map<string, Map<string, CachedObject>>();

  function cacheOf(group: string, plural: string): ResourceCache | undefined {
    const resource = registry.find(group, 'v1', plural);
    return resource === undefined ? undefined : cache.resource(resource.storage);
  }

  function changed({ current }: CacheChange): void {
    onChange(current.namespace, current.name);
  }

  function place(slice: CachedObject, put: boolean): void {
    const name = slice.labels[serviceLabel];
    if (name === undefined) return;
    const service = keyOf(slice.namespace, name);
    const known = slices.get(service) ?? new Map<string, CachedObject>();
    if (put) slices.set(service, known.set(slice.key, slice));
    else if (known.delete(slice.key) && known.size === 0) slices.delete(service);
    onChange(slice.namespace, name);
  }

  const services = cacheOf('', 'services');
  const endpoints = cacheOf('', 'endpoints');
  for (const followed of [services, endpoints]) {
    if (followed !== undefined) handles.push(followed.follow(changed));
  }
  const sliceHandle = cacheOf(`discovery.${vocabulary.apiGroupDomain}`, 'endpointslices')?.follow(
    ({ type, current, previous }) => {
      if (previous !== undefined) place(previous, false);
      place(current, type !== 'DELETED');
    },
  );
  if (sliceHandle !== undefined) handles.push(sliceHandle);

  return {
    stateOf({ namespace, name }) {
      const key = keyOf(namespace, name);
      const service = services?.get(key)?.object();
      const points = endpoints?.get(key)?.object();
      return {
        service: service === undefined ? undefined : typed<Service>(service),
        endpoints: points === undefined ? undefined : typed<Endpoints>(points),
        slices: [...(slices.get(key)?.values() ?? [])].map((slice) => typed<EndpointSlice>(slice.object())),
      };
    },
    close() {
      for (const handle of handles) handle.close();
    },
  };
}
