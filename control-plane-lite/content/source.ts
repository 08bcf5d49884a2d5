/** An object that is about to be shown, in the version that the client asked for: cached bytes where they are what
 *  is wanted, made and remembered where they are not. */
import { copyJson } from '#api/codec/copy-json.ts';
import type { CachedObject } from '../cache/contract.ts';
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
  const { conversion, info } = resource;
  const apiVersion = apiVersionOf(info);
  const stamp = (object: ApiObject): ApiObject => ({ ...object, kind: info.kind, apiVersion });
  if (conversion === undefined) return stamp(stored);
  const converted = conversion.fromStorage(copyJson(stored));
  return converted instanceof Promise ? converted.then(stamp) : stamp(converted);
}

function convertedSource(cached: CachedObject, apiVersion: string, object: ApiObject): Source {
  const form = (name: string, make: () => Buffer): Buffer => cached.form(`${apiVersion} ${name}`, make);
  return {
    json: () => form('json', () => Buffer.from(JSON.stringify(object))),
    object: () => object,
    form,
  };
}

/** A cached object as the resource shows it; a promise only where its conversion needs one (a webhook). */
export function sourceOf(resource: Resource, cached: CachedObject): Source | Promise<Source> {
  if (isStoredForm(resource)) return storedSource(cached);
  const apiVersion = apiVersionOf(resource.info);
  const object = convertObject(resource, cached.object());
  return object instanceof Promise
    ? object.then((converted) => convertedSource(cached, apiVersion, converted))
    : convertedSource(cached, apiVersion, object);
}

const storedSource = (cached: CachedObject): Source => ({
  json: () => cached.json,
  object: () => cached.object(),
  form: (name, make) => cached.form(name, make),
});
