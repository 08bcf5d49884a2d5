/** An object that is about to be shown, in the version that the client asked for: cached bytes where they are what
 *  is wanted, made and remembered where they are not. */
import { copyJson } from '#api/codec/copy-json.ts';
import type { CachedObject, StoredForm } from '../cache/contract.ts';
import type { ApiObject, Resource } from '../resources/contract.ts';
import { apiVersionOf } from '../resources/facts.ts';

export interface Source {
  /** JSON of the whole object. */
  json(): Buffer;
  /** Never to be changed. */
  object(): ApiObject;
  /** Bytes made once and remembered, where that is possible. */
  form(name: string, make: () => Buffer): Buffer;
}

/** An object that is nowhere cached, such as the result of a dry run. */
export function plainSource(object: ApiObject): Source {
  return {
    json: () => Buffer.from(JSON.stringify(object)),
    object: () => object,
    form: (_, make) => make(),
  };
}

/** Whether stored bytes are what clients of the resource get. */
export const isStoredForm = (resource: Resource): boolean =>
  resource.stored === undefined && resource.conversion === undefined;

/** The stored object in the resource's version. */
export function convertObject(resource: Resource, stored: ApiObject): ApiObject | Promise<ApiObject> {
  const { conversion, info, schema } = resource;
  const apiVersion = apiVersionOf(info);
  const stamp = (object: ApiObject): ApiObject => ({ ...object, kind: info.kind, apiVersion });
  if (conversion === undefined) return stamp(stored);
  const complete = (object: ApiObject): ApiObject => stamp(schema.completed?.(object) ?? object);
  const converted = conversion.fromStorage(copyJson(stored));
  return converted instanceof Promise ? converted.then(complete) : complete(converted);
}

/** Converted when it is first needed, which it isn't where its bytes are remembered. */
function convertedSource(cached: StoredForm, resource: Resource): Source {
  const id = resource.conversion?.id ?? apiVersionOf(resource.info);
  let object: ApiObject | undefined;
  const form = (name: string, make: () => Buffer): Buffer => cached.form(`${id} ${name}`, make);
  const made = (): ApiObject => {
    object ??= convertNow(resource, cached.object());
    return object;
  };
  return { json: () => form('json', () => Buffer.from(JSON.stringify(made()))), object: made, form };
}

/** @throws Error a mistake in the program: a conversion that has to be waited for says so */
function convertNow(resource: Resource, stored: ApiObject): ApiObject {
  const converted = convertObject(resource, stored);
  if (converted instanceof Promise) throw new Error(`${resource.info.plural} cannot be converted at once`);
  return converted;
}

/** Whether objects are converted elsewhere and have to be waited for. */
export const takesTime = ({ conversion }: Resource): boolean => conversion?.takesTime === true;

/** A cached object as the resource shows it, where nobody has to be waited for: not for what takes time. */
export const sourceNow = (resource: Resource, cached: StoredForm): Source =>
  isStoredForm(resource) ? storedSource(cached) : convertedSource(cached, resource);

/** A cached object as the resource shows it; a promise only where its conversion needs one (a webhook). */
export function sourceOf(resource: Resource, cached: StoredForm): Source | Promise<Source> {
  if (!takesTime(resource)) return sourceNow(resource, cached);
  // Another answer may come next time: nothing of it is remembered.
  const object = convertObject(resource, cached.object());
  return object instanceof Promise ? object.then(plainSource) : plainSource(object);
}

/** Objects of a page as the resource shows them, in their order; several are converted together where they can be. */
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

/** Stored objects in the resource's version, together where they can be, else one after the other. */
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
  json: () => cached.json,
  object: () => cached.object(),
  form: (name, make) => cached.form(name, make),
});
