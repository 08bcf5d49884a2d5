/** Accessors for objects received from the server, in which any member may be missing. Pure. */
import { isObject } from '#api/kit/object.ts';

/** An object in its JSON form. */
export type JsonObject = Readonly<Record<string, unknown>>;

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

/** Returns a string member of the object metadata. */
export function metadataText(
  object: JsonObject,
  member: 'name' | 'namespace' | 'uid' | 'resourceVersion' | 'deletionTimestamp',
): string | undefined {
  const { metadata } = object;
  return isObject(metadata) ? textOf(metadata[member]) : undefined;
}

export const resourceVersionOf = (object: JsonObject): string | undefined =>
  metadataText(object, 'resourceVersion');

/** Returns `namespace/name`, or the name alone. */
export function objectName(object: JsonObject): string {
  const namespace = metadataText(object, 'namespace');
  const name = metadataText(object, 'name') ?? '';
  return namespace === undefined ? name : `${namespace}/${name}`;
}
