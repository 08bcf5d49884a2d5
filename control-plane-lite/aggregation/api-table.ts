/** Current table of aggregated group versions and their resources. */
import { isDeepStrictEqual } from 'node:util';
import type { APIResource } from '#api/gen/meta-v1.ts';
import type { ResourceCache } from '../cache/contract.ts';
import type { ExtraGroup } from '../discovery/groups.ts';
import type { Handler } from '../http/contract.ts';
import { apiServiceName, extraGroups, type RemoteApi, readRemoteApi } from './api-services.ts';

export interface ApiTable {
  find(group: string, version: string): RemoteApi | undefined;
  /** By name of the APIService. */
  get(name: string): RemoteApi | undefined;
  all(): Iterable<RemoteApi>;
  resourcesOf(name: string): readonly APIResource[] | undefined;
  /** Discovery data reported by the server. */
  setResources(api: RemoteApi, resources: readonly APIResource[]): void;
  /** The same array as long as nothing changed. */
  groups(): readonly ExtraGroup[];
  close(): void;
}

export interface ApiTableOptions {
  /** APIServices. */
  readonly cache: ResourceCache;
  /** Groups that are never another server's. */
  readonly own: ReadonlySet<string>;
  /** Handlers of the paths below the group versions. */
  readonly forward: Handler;
  /** An API is new, or leads elsewhere. */
  readonly onChange: (api: RemoteApi) => void;
}

const isSame = (left: RemoteApi, right: RemoteApi | undefined): boolean =>
  right !== undefined && isDeepStrictEqual({ ...left, available: false }, { ...right, available: false });

export function createApiTable({ cache, own, forward, onChange }: ApiTableOptions): ApiTable {
  const apis = new Map<string, RemoteApi>();
  const resources = new Map<string, readonly APIResource[]>();
  let groups: readonly ExtraGroup[] | undefined;

  const following = cache.follow(({ type, current }) => {
    const { name } = current;
    const old = apis.get(name);
    const read = type === 'DELETED' ? undefined : readRemoteApi(current.object());
    const api = read === undefined || own.has(read.group) ? undefined : read;
    if (api === undefined && old === undefined) return;
    groups = undefined;
    if (api !== undefined && isSame(api, old)) {
      apis.set(name, api);
      return;
    }
    resources.delete(name);
    if (api === undefined) {
      apis.delete(name);
      return;
    }
    apis.set(name, api);
    onChange(api);
  });

  return {
    find: (group, version) => (apis.size === 0 ? undefined : apis.get(apiServiceName(group, version))),
    get: (name) => apis.get(name),
    all: () => apis.values(),
    resourcesOf: (name) => resources.get(name),
    setResources({ name }, found) {
      if (!apis.has(name) || isDeepStrictEqual(resources.get(name), found)) return;
      resources.set(name, found);
      groups = undefined;
    },
    groups() {
      groups ??= extraGroups(apis.values(), (name) => resources.get(name), forward);
      return groups;
    },
    close: () => following.close(),
  };
}
