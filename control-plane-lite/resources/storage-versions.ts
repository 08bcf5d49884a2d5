/** Conversion of objects between the served and the stored version. */
import { copyJson } from '#api/codec/copy-json.ts';
import type { Turns } from '#api/kit/steps.ts';
import type { ApiObject, Resource } from './contract.ts';
import { apiVersionOf } from './facts.ts';

/** The draft in the stored version. */
export async function toStorageVersion(
  resource: Resource,
  draft: ApiObject,
  turns?: Turns,
): Promise<ApiObject> {
  const { conversion, storage } = resource;
  const converted = conversion === undefined ? draft : await conversion.toStorage(draft, turns);
  converted.apiVersion = storage.apiVersion;
  converted.kind = storage.kind;
  return converted;
}

/** A stored object in the served version; `object` must be the caller's own. */
export async function fromStorageVersion(
  resource: Resource,
  object: ApiObject,
  turns?: Turns,
): Promise<ApiObject> {
  const { conversion, info } = resource;
  const converted = conversion === undefined ? object : await conversion.fromStorage(object, turns);
  converted.apiVersion = apiVersionOf(info);
  converted.kind = info.kind;
  return conversion === undefined ? converted : (resource.schema.completed?.(converted) ?? converted);
}

/** Converts the draft to the storage version, whose strategy applies. */
export function toDecidingVersion(resource: Resource, draft: ApiObject): ApiObject | Promise<ApiObject> {
  return resource.decidesInServed === true ? draft : toStorageVersion(resource, draft);
}

/** Converts the result to its stored form. `turns`: it is large. */
export function toStoredForm(
  resource: Resource,
  draft: ApiObject,
  turns?: Turns,
): ApiObject | Promise<ApiObject> {
  return resource.decidesInServed === true && resource.conversion !== undefined
    ? convertDecided(resource, draft, turns)
    : draft;
}

async function convertDecided(
  resource: Resource,
  draft: ApiObject,
  turns: Turns | undefined,
): Promise<ApiObject> {
  const converted = await toStorageVersion(resource, { ...draft }, turns);
  return resource.stored?.schema.completed?.(converted) ?? converted;
}

/** Returns the result in the version of the request, as a copy. */
export function shownDecision(resource: Resource, object: ApiObject): ApiObject | Promise<ApiObject> {
  return resource.decidesInServed === true ? object : shownOf(resource, object);
}

/** Reports whether clients receive the stored bytes unchanged. */
export const isStoredVersion = (resource: Resource): boolean =>
  resource.stored === undefined && resource.conversion === undefined;

/** Returns a stored object in the version of the request, as a copy. */
export async function shownOf(resource: Resource, object: ApiObject): Promise<ApiObject> {
  return isStoredVersion(resource) ? object : fromStorageVersion(resource, copyJson(object));
}

/** Gives a draft, in the version that decides, its canonical form: what admission and strategies put into it, or all
 *  of it if a controller built it. Changes the draft, but nothing that is inside of its
 *  members.
 *  @param old in canonical form; what the draft shares with it has that form already */
export function completeDraft({ schema }: Resource, draft: ApiObject, old?: ApiObject): void {
  const { apiVersion, kind, metadata } = draft;
  const changed: ApiObject = { apiVersion, kind, metadata };
  for (const member of Object.keys(draft)) {
    if (old === undefined || draft[member] !== old[member]) changed[member] = draft[member];
  }
  const form = schema.completed?.(changed) ?? changed;
  if (form === changed) return;
  for (const member of Object.keys(changed)) if (!Object.hasOwn(form, member)) delete draft[member];
  for (const member of Object.keys(form)) {
    if (Object.hasOwn(changed, member) || draft[member] === undefined) draft[member] = form[member];
  }
}

/** A stored object in canonical form: an older release may have stored it in another one. Itself is not changed. */
export function completedStored(resource: Resource, object: ApiObject): ApiObject {
  const { schema } = resource.stored ?? resource;
  return resource.decidesInServed === true ? object : (schema.completed?.(object) ?? object);
}
