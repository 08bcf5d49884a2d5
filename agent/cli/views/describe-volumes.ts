/** Formats the volumes of a pod. Pure. */

import type { Volume } from '#api/gen/core-v1.ts';
import { isObject } from '#api/kit/object.ts';
import { textMember } from '../client/responses.ts';

/** Fields that identify a source within its type. */
const IDENTIFYING = [
  'name',
  'secretName',
  'claimName',
  'path',
  'server',
  'volumeID',
  'driver',
  'medium',
] as const;

/** Formats name, type and source of the content. */
export function describeVolume(volume: Volume): readonly string[] {
  const [type = '', source] = Object.entries(volume).find(([key]) => key !== 'name') ?? [];
  return [volume.name, type, sourceText(type, source)];
}

function sourceText(type: string, source: unknown): string {
  if (!isObject(source)) return '';
  if (type === 'projected') {
    const parts: readonly unknown[] = Array.isArray(source['sources']) ? source['sources'] : [];
    return parts.filter(isObject).map(projectionText).join(', ');
  }
  const parts = IDENTIFYING.map((key) => textMember(source, key)).filter((text) => text !== '');
  return parts.join(' ');
}

function projectionText(projection: Readonly<Record<string, unknown>>): string {
  const [type = '', source] = Object.entries(projection)[0] ?? [];
  const name = isObject(source) ? textMember(source, 'name') : '';
  return name === '' ? type : `${type} ${name}`;
}
