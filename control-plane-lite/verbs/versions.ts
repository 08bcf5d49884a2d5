/** An object between the version that it is served in and the one that it is stored in. */
import { copyJson } from '#api/codec/copy-json.ts';
import type { ApiObject, Resource } from '../resources/contract.ts';
import { apiVersionOf } from '../resources/facts.ts';

/** The draft in the stored version. */
export async function toStorageVersion(resource: Resource, draft: ApiObject): Promise<ApiObject> {
  const { conversion, storage } = resource;
  const converted = conversion === undefined ? draft : await conversion.toStorage(draft);
  converted.apiVersion = storage.apiVersion;
  converted.kind = storage.kind;
  return converted;
}

/** A stored object in the served version; `object` must be the caller's own. */
export async function fromStorageVersion(resource: Resource, object: ApiObject): Promise<ApiObject> {
  const { conversion, info } = resource;
  const converted = conversion === undefined ? object : await conversion.fromStorage(object);
  converted.apiVersion = apiVersionOf(info);
  converted.kind = info.kind;
  return converted;
}

/** The draft in the version whose strategy decides. */
export function toDecidingVersion(resource: Resource, draft: ApiObject): ApiObject | Promise<ApiObject> {
  return resource.decidesInServed === true ? draft : toStorageVersion(resource, draft);
}

/** What was decided, as it is stored. */
export function toStoredForm(resource: Resource, draft: ApiObject): ApiObject | Promise<ApiObject> {
  return resource.decidesInServed === true && resource.conversion !== undefined
    ? toStorageVersion(resource, { ...draft })
    : draft;
}

/** What a client gets to see of what was decided, which itself stays as it is. */
export function shownDecision(resource: Resource, object: ApiObject): ApiObject | Promise<ApiObject> {
  return resource.decidesInServed === true ? object : shownOf(resource, object);
}

/** Whether stored bytes are what clients of the resource get. */
export const isStoredVersion = (resource: Resource): boolean =>
  resource.stored === undefined && resource.conversion === undefined;

/** What a client gets to see of a stored object, which itself stays as it is. */
export async function shownOf(resource: Resource, object: ApiObject): Promise<ApiObject> {
  return isStoredVersion(resource) ? object : fromStorageVersion(resource, copyJson(object));
}
