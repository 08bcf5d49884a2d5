/** Formats configuration objects as table rows. Pure. */
import { isObject } from '#api/kit/object.ts';
import { type PlainObject, textMember } from '../client/responses.ts';

export const OBJECT_HEADINGS: readonly string[] = ['NAMESPACE', 'NAME', 'CONTENT'];

export function objectRow(object: PlainObject): readonly string[] {
  const metadata = isObject(object['metadata']) ? object['metadata'] : {};
  return [textMember(metadata, 'namespace'), textMember(metadata, 'name'), contentText(object)];
}

/** Summarizes the content of the object; only the type for a Secret. */
function contentText(object: PlainObject): string {
  switch (textMember(object, 'kind')) {
    case 'ConfigMap':
      return keysText([object['data'], object['binaryData']]);
    case 'Secret':
      return textMember(object, 'type');
    default:
      return storageText(object['spec']);
  }
}

function keysText(maps: readonly unknown[]): string {
  const keys = maps.flatMap((map) => (isObject(map) ? Object.keys(map) : []));
  return keys.length === 0 ? 'empty' : keys.join(', ');
}

/** Formats `1Gi ReadWriteOnce` of a volume or claim. */
function storageText(spec: unknown): string {
  if (!isObject(spec)) return '';
  const { capacity, resources, accessModes } = spec;
  const requests = isObject(resources) ? resources['requests'] : undefined;
  const sizes = isObject(capacity) ? capacity : requests;
  const size = isObject(sizes) ? textMember(sizes, 'storage') : '';
  const modes = Array.isArray(accessModes) ? accessModes.filter((mode) => typeof mode === 'string') : [];
  return [size, modes.join(',')].filter((text) => text !== '').join(' ');
}
