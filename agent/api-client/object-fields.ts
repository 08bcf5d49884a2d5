/** Members of objects as they come from the server, where anything may be missing. Pure. */

/** An object as it stands on the wire. */
export type JsonObject = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

/** A text of the object's metadata. */
export function metadataText(
  object: JsonObject,
  member: 'name' | 'namespace' | 'uid' | 'resourceVersion' | 'deletionTimestamp',
): string | undefined {
  const { metadata } = object;
  return isObject(metadata) ? textOf(metadata[member]) : undefined;
}

export const resourceVersionOf = (object: JsonObject): string | undefined =>
  metadataText(object, 'resourceVersion');

/** `namespace/name`, or the name alone. */
export function objectName(object: JsonObject): string {
  const namespace = metadataText(object, 'namespace');
  const name = metadataText(object, 'name') ?? '';
  return namespace === undefined ? name : `${namespace}/${name}`;
}
