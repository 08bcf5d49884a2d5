/** A pod's volumes, for people. Pure. */
import type { Volume } from '#api/schema/gen/core-v1.ts';
import { isPlainObject, textMember } from './answers.ts';

/** Members of a source that tell which one it is. */
const TELLING = [
  'name',
  'secretName',
  'claimName',
  'path',
  'server',
  'volumeID',
  'driver',
  'medium',
] as const;

/** Name, type, and where its content comes from. */
export function describeVolume(volume: Volume): readonly string[] {
  const [type = '', source] = Object.entries(volume).find(([key]) => key !== 'name') ?? [];
  return [volume.name, type, sourceText(type, source)];
}

function sourceText(type: string, source: unknown): string {
  if (!isPlainObject(source)) return '';
  if (type === 'projected') {
    const parts: readonly unknown[] = Array.isArray(source['sources']) ? source['sources'] : [];
    return parts.filter(isPlainObject).map(projectionText).join(', ');
  }
  const words = TELLING.map((key) => textMember(source, key)).filter((text) => text !== '');
  return words.join(' ');
}

function projectionText(projection: Readonly<Record<string, unknown>>): string {
  const [type = '', source] = Object.entries(projection)[0] ?? [];
  const name = isPlainObject(source) ? textMember(source, 'name') : '';
  return name === '' ? type : `${type} ${name}`;
}
