import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import facts from '#api/schema/data/api-types/core-v1.json' with { type: 'json' };
import { FIELD_USES } from './field-uses.ts';

interface Field {
  readonly json: string;
  readonly type: string;
  readonly inline?: boolean;
}

const TYPES: Readonly<Record<string, { readonly fields: readonly Field[] }>> = facts.types;
const fieldsOf = (type: string): readonly Field[] =>
  (TYPES[type]?.fields ?? []).flatMap((field) => (field.inline === true ? fieldsOf(field.type) : [field]));

/** Each field of each source, in pods or PersistentVolumes. */
const SOURCES = new Map<string, ReadonlySet<string>>();
for (const source of [...fieldsOf('VolumeSource'), ...fieldsOf('PersistentVolumeSource')]) {
  const names = fieldsOf(source.type).map(({ json }) => json);
  SOURCES.set(source.json, new Set([...(SOURCES.get(source.json) ?? []), ...names]));
}

const HERE = import.meta.dirname;
/** Files shared by all sources, which name fields of all of them. */
const SHARED = /\/(?:source|types|field-uses)\.ts$/;

/** Returns the text of the source's own file and of its imports in this top-level folder. */
function textOf(path: string, seen: Set<string>): string {
  if (seen.has(path) || SHARED.test(path)) return '';
  seen.add(path);
  const text = readFileSync(path, 'utf8');
  const imports = [...text.matchAll(/from '(\.[^']+)'/g)].map(([, name = '']) => join(dirname(path), name));
  return [text, ...imports.map((name) => textOf(name, seen))].join('\n');
}

const fileOf = (source: string): string =>
  join(
    HERE,
    `${source.replaceAll(/(?<=[a-z])[A-Z]+/g, (word) => `-${word.toLowerCase()}`).toLowerCase()}.ts`,
  );

describe('uses of the fields of sources', () => {
  test('are listed for every source and for no other', () => {
    expect(Object.keys(FIELD_USES).toSorted()).toEqual([...SOURCES.keys()].toSorted());
  });

  test.each(Object.entries(FIELD_USES))('is listed for every field of %s, and is correct', (source, uses) => {
    expect(Object.keys(uses).toSorted()).toEqual([...(SOURCES.get(source) ?? [])].toSorted());
    const text = textOf(fileOf(source), new Set());
    const ignored = Object.entries(uses)
      .filter(([field, use]) => use === 'used' && !new RegExp(`\\b${field}\\b`).test(text))
      .map(([field]) => field);
    expect(ignored).toEqual([]);
  });
});
