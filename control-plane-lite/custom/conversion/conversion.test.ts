import { describe, expect, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import type { ApiObject, Conversion } from '../../resources/contract.ts';
import { createCustomSchema } from '../schema/custom-schema.ts';
import { type ConversionOptions, customConversion } from './conversion.ts';

const schema = (version: string, properties: object) =>
  createCustomSchema({
    apiVersion: `shop.example/${version}`,
    kind: 'Cake',
    schema: () => ({ type: 'object', properties }),
    vocabulary: VOCABULARIES.plat,
  });
const text = { type: 'string' };
const schemas = new Map([
  ['v1', schema('v1', { both: text, one: text })],
  ['v2', schema('v2', { both: text, two: { ...text, default: 'd' } })],
]);

const cake = (version: string, members: object = {}): ApiObject => ({
  apiVersion: `shop.example/${version}`,
  kind: 'Cake',
  metadata: { name: 'a' },
  ...members,
});

function conversion(options: Partial<ConversionOptions>): Conversion | undefined {
  return customConversion({
    group: 'shop.example',
    version: 'v1',
    storage: 'v1',
    storedVersions: ['v1'],
    schemas,
    outdated: false,
    id: 'id',
    ...options,
  });
}

const must = (options: Partial<ConversionOptions>): Conversion => {
  const made = conversion(options);
  if (made === undefined) throw new Error('there is no conversion');
  return made;
};

describe('customConversion', () => {
  test('is none where stored bytes are served', () => {
    expect(conversion({})).toBeUndefined();
    expect(conversion({ outdated: true })).toBeDefined();
    expect(conversion({ storedVersions: ['v2', 'v1'] })).toBeDefined();
    expect(conversion({ version: 'v2' })).toBeDefined();
  });

  test('renames, and prunes without defaults', () => {
    const made = must({ version: 'v2' });
    expect(made.takesTime).toBeUndefined();
    expect(made.fromStorage(cake('v1', { both: 'b', one: '1' }))).toEqual(cake('v2', { both: 'b' }));
    expect(made.toStorage(cake('v2', { both: 'b', two: '2' }))).toEqual(cake('v1', { both: 'b' }));
  });

  test('reads outdated objects by the schema of their version, with its defaults', () => {
    const made = must({
      version: 'v2',
      storage: 'v2',
      storedVersions: ['v1', 'v2'],
      outdated: true,
    });
    expect(made.fromStorage(cake('v2', { old: 1 }))).toEqual(cake('v2', { two: 'd' }));
    expect(made.fromStorage(cake('v1', { old: 1, both: 'b' }))).toEqual(cake('v2', { both: 'b' }));
  });

  test('converts all objects of another version in one request', async () => {
    const conversions: string[] = [];
    const made = must({
      version: 'v2',
      storedVersions: ['v1', 'v2'],
      elsewhere: (objects, apiVersion) => {
        conversions.push(`${objects.map(({ metadata }) => metadata.name).join()} to ${apiVersion}`);
        return Promise.resolve(objects.map((object) => ({ ...object, apiVersion, two: 'made', odd: 1 })));
      },
    });
    expect(made.takesTime).toBe(true);
    const named = (name: string, version: string): ApiObject => ({ ...cake(version), metadata: { name } });
    const objects = [named('a', 'v1'), named('b', 'v2'), named('c', 'v1')];
    expect(await made.manyFromStorage?.(objects)).toEqual([
      { ...named('a', 'v2'), two: 'made' },
      named('b', 'v2'),
      { ...named('c', 'v2'), two: 'made' },
    ]);
    expect(await made.manyFromStorage?.([named('b', 'v2')])).toEqual([named('b', 'v2')]);
    expect(await made.fromStorage(named('b', 'v2'))).toEqual(named('b', 'v2'));
    expect(await made.toStorage(named('d', 'v2'))).toEqual(named('d', 'v1'));
    expect(conversions).toEqual(['a,c to shop.example/v2', 'd to shop.example/v1']);
  });
});
