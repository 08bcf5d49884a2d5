/** Source of an object in the version that the client requested: cached bytes if they match, otherwise
 *  converted and cached. */
import { copyJson } from '#api/codec/copy-json.ts';
import type { CachedObject, StoredForm } from '../cache/contract.ts';
import type { ApiObject, Resource } from '../resources/contract.ts';
import { apiVersionOf } from '../resources/facts.ts';

export interface Source {
  /** About as many as its JSON has; 0 for an object that is nowhere cached. */
  bytes(): number;
  /** JSON of the whole object. */
  json(): Buffer;
  /** Never to be modified. */
  object(): ApiObject;
  /** Returns bytes that are encoded once and cached, if possible. */
  form(name: string, make: () => Buffer): Buffer;
}

/** An object that is not in the cache, such as the result of a dry run. */
export function plainSource(object: ApiObject): Source {
  return {
    bytes: () => 0,
    json: () => Buffer.from(JSON.stringify(object)),
    object: () => object,
    form: (_, make) => make(),
  };
}

/** The same of a large object, whose JSON was written before. */
export const writtenSource = (object: ApiObject, json: Buffer): Source => ({
  bytes: () => json.length,
  json: () => json,
  object: () => object,
  form: (_, make) => make(),
});

/** Reports whether clients of the resource get the stored bytes unchanged. */
export const isStoredForm = (resource: Resource): boolean =>
  resource.stored === undefined && resource.conversion === undefined;

/** Returns the stored object in the resource's version. */
function convertObject(resource: Resource, stored: ApiObject): ApiObject | Promise<ApiObject> {
  const { conversion, info, schema } = resource;
  const apiVersion = apiVersionOf(info);
  const stamp = (object: ApiObject): ApiObject => ({ ...object, kind: info.kind, apiVersion });
  if (conversion === undefined) return stamp(stored);
  const complete = (object: ApiObject): ApiObject => stamp(schema.completed?.(object) ?? object);
  const converted = conversion.fromStorage(copyJson(stored));
  return converted instanceof Promise ? converted.then(complete) : complete(converted);
}

/** Converted on first use, which is skipped if its bytes are cached. */
function convertedSource(cached: StoredForm, resource: Resource): Source {
  const id = resource.conversion?.id ?? apiVersionOf(resource.info);
  let object: ApiObject | undefined;
  const form = (name: string, make: () => Buffer): Buffer => cached.form(`${id} ${name}`, make);
  const made = (): ApiObject => {
    object ??= convertNow(resource, cached.object());
    return object;
  };
  // The JSON of recent writes is created on each access.
  const bytes = (): number => cached.json.length;
  return { bytes, json: () => form('json', () => Buffer.from(JSON.stringify(made()))), object: made, form };
}

/** @throws Error on a bug: the conversion is asynchronous */
function convertNow(resource: Resource, stored: ApiObject): ApiObject {
  const converted = convertObject(resource, stored);
  if (converted instanceof Promise)
    throw new Error(`${resource.info.plural} cannot be converted synchronously`);
  return converted;
}

/** Reports whether objects are converted asynchronously (by a webhook). */
export const takesTime = ({ conversion }: Resource): boolean => conversion?.takesTime === true;

/** Returns a cached object in the resource's version; only for synchronous conversions. */
export const sourceNow = (resource: Resource, cached: StoredForm): Source =>
  isStoredForm(resource) ? storedSource(cached) : convertedSource(cached, resource);

/** Returns a cached object in the resource's version; a promise only if its conversion is asynchronous (a
 *  webhook). */
export function sourceOf(resource: Resource, cached: StoredForm): Source | Promise<Source> {
  if (!takesTime(resource)) return sourceNow(resource, cached);
  // The result may differ next time, so nothing of it is cached.
  const object = convertObject(resource, cached.object());
  return object instanceof Promise ? object.then(plainSource) : plainSource(object);
}

/** Returns the objects of a page in the resource's version, in order; converted as one batch if possible. */
export async function sourcesOf(
  resource: Resource,
  items: readonly CachedObject[],
): Promise<readonly Source[]> {
  if (!takesTime(resource)) return items.map((item) => sourceNow(resource, item));
  const converted = await convertObjects(
    resource,
    items.map((item) => item.object()),
  );
  return converted.map(plainSource);
}

/** Converts stored objects to the resource's version, as one batch if possible, else one after the other. */
export async function convertObjects(
  resource: Resource,
  stored: readonly ApiObject[],
): Promise<readonly ApiObject[]> {
  const { conversion } = resource;
  if (conversion?.manyFromStorage !== undefined) return conversion.manyFromStorage(stored);
  const converted: ApiObject[] = [];
  for (const object of stored) converted.push(await convertObject(resource, object));
  return converted;
}

const storedSource = (cached: StoredForm): Source => ({
  bytes: () => cached.json.length,
  json: () => cached.json,
  object: () => cached.object(),
  form: (name, make) => cached.form(name, make),
});
