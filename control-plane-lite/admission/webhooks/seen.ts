/** A request as a webhook receives it: converted to the resource version that the webhook's rules name.
 *  Source: matchPolicy, document 2 §2.2 and §2.6. */
import { copyJson } from '#api/codec/copy-json.ts';
import type { ApiObject, Resource } from '../../resources/contract.ts';
import { apiVersionOf } from '../../resources/facts.ts';
import type { ResourceRegistry } from '../../resources/registry.ts';
import { fromStorageVersion, toStorageVersion } from '../../resources/storage-versions.ts';
import type { AdmissionRequest } from '../contract.ts';

/** The versions in which a resource is served, itself among them. */
export type VersionsOf = (resource: Resource) => readonly Resource[];

export interface SeenRequest {
  /** Version of the objects in the call. */
  readonly resource: Resource;
  readonly object: ApiObject | undefined;
  readonly old: ApiObject | undefined;
}

export function createVersionsOf(registry: Pick<ResourceRegistry, 'all' | 'generation'>): VersionsOf {
  let generation = -1;
  let byStorage = new Map<string, readonly Resource[]>();
  return ({ storage }) => {
    if (generation !== registry.generation) {
      byStorage = Map.groupBy(registry.all(), (each) => each.storage.prefix);
      ({ generation } = registry);
    }
    return byStorage.get(storage.prefix) ?? [];
  };
}

/** Converts the object to the version. Objects of other kinds (Scale, Eviction) remain unchanged. */
async function inVersion(
  object: ApiObject,
  resource: Resource,
  versions: readonly Resource[],
): Promise<ApiObject> {
  if (object.apiVersion === apiVersionOf(resource.info)) return object;
  const from = versions.find(
    ({ info }) => apiVersionOf(info) === object.apiVersion && info.kind === object.kind,
  );
  if (from === undefined) return object;
  return fromStorageVersion(resource, await toStorageVersion(from, copyJson(object)));
}

export async function seeIn(
  resource: Resource,
  { object, old }: Pick<AdmissionRequest, 'object' | 'old'>,
  versionsOf: VersionsOf,
): Promise<SeenRequest> {
  const versions = versionsOf(resource);
  const see = (each: ApiObject | undefined): Promise<ApiObject> | undefined =>
    each === undefined ? undefined : inVersion(each, resource, versions);
  return { resource, object: await see(object), old: await see(old) };
}

/** Converts the object that a webhook has changed back to its previous version. */
export const seenBack = (
  made: ApiObject,
  before: ApiObject,
  { resource }: SeenRequest,
  versionsOf: VersionsOf,
): Promise<ApiObject> => {
  const versions = versionsOf(resource);
  const target = versions.find(({ info }) => apiVersionOf(info) === before.apiVersion) ?? resource;
  return inVersion(made, target, versions);
};
