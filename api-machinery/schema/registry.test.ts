import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it, test } from 'vitest';
import { VOCABULARIES } from '../vocabulary.ts';
import {
  findType,
  formatTypeName,
  inlineTypes,
  isRequired,
  jsonFields,
  META_PACKAGE,
  packageOf,
  parseTypeName,
  shapeOf,
  type TypeName,
  typeOf,
  UnknownTypeError,
  wireApiVersion,
  wireName,
} from './registry.ts';

const directory = new URL('./data/api-types/', import.meta.url);
const packages = readdirSync(directory).map(
  (file) =>
    JSON.parse(readFileSync(new URL(file, directory), 'utf8')) as {
      package: string;
      types: Record<string, unknown>;
    },
);
const everyType: readonly TypeName[] = packages.flatMap((data) =>
  Object.keys(data.types).map((typeName) => ({ packageName: data.package, typeName })),
);

/** Returns the struct that a field's type refers to, if any. */
function structOf(type: string, packageName: string): TypeName | undefined {
  const shape = shapeOf(type, packageName);
  if (shape.kind === 'scalar') return undefined;
  return shape.kind === 'struct' ? shape.name : structOf(shape.element, packageName);
}

describe('the whole schema', () => {
  it('is not empty', () => expect(everyType.length).toBeGreaterThan(600));

  it('has every type that one of its fields names', () => {
    const named = everyType.flatMap((name) =>
      jsonFields(name).flatMap((field) => structOf(field.type, field.packageName) ?? []),
    );
    expect(named.length).toBeGreaterThan(500);
    expect(named.map((name) => typeOf(name)).every((fact) => Array.isArray(fact.fields))).toBe(true);
  });

  it('has no two members of one name in a JSON object', () => {
    for (const name of everyType) {
      const members = jsonFields(name).map((field) => field.json);
      expect(new Set(members).size).toBe(members.length);
    }
  });
});

describe('typeOf', () => {
  it('finds types by package and name', () => {
    expect(typeOf('core/v1.Pod').kind).toBe(true);
    expect(typeOf(`storage.${VOCABULARIES.plat.apiGroupDomain}/v1.StorageClass`).kind).toBe(true);
    expect(typeOf({ packageName: META_PACKAGE, typeName: 'ObjectMeta' }).fields.length).toBeGreaterThan(10);
  });

  test.each(['Pod', 'core/v1.Nope', 'core/v9.Pod', '../../package.Pod', 'core/v1.constructor', ''])(
    'refuses %j',
    (type) => {
      expect(() => typeOf(type)).toThrow(UnknownTypeError);
    },
  );

  test.each(['Nope', 'constructor', ''])('finds no type %j in a package', (typeName) => {
    expect(findType({ packageName: 'core/v1', typeName })).toBeUndefined();
    expect(findType({ packageName: 'core/v1', typeName: 'Pod' })).toBe(typeOf('core/v1.Pod'));
  });
});

describe('jsonFields', () => {
  it('resolves inline parents', () => {
    const members = jsonFields(parseTypeName('core/v1.Volume')).map((field) => field.json);
    expect(members.slice(0, 3)).toEqual(['name', 'hostPath', 'emptyDir']);
    expect(inlineTypes(parseTypeName('core/v1.EphemeralContainer')).map(formatTypeName)).toEqual([
      'core/v1.EphemeralContainer',
      'core/v1.EphemeralContainerCommon',
    ]);
  });

  it('knows the required members', () => {
    const required = jsonFields(parseTypeName('core/v1.PodSpec')).filter(isRequired);
    expect(required.map((field) => field.json)).toEqual(['containers']);
  });
});

describe('vocabularies', () => {
  const { plat, kubernetes } = VOCABULARIES;
  const storage = (vocabulary: typeof plat): string => `storage.${vocabulary.apiGroupDomain}/v1`;

  test.each([
    ['core/v1', 'v1', 'v1'],
    ['apps/v1', 'apps/v1', 'apps/v1'],
    [storage(plat), storage(plat), storage(kubernetes)],
  ])('package %s is %s and %s on the wire', (packageName, own, upstream) => {
    expect([plat, kubernetes].map((words) => wireApiVersion(packageName, words))).toEqual([own, upstream]);
    expect([packageOf(own, plat), packageOf(upstream, kubernetes)]).toEqual([packageName, packageName]);
  });

  test.each([
    [storage(kubernetes), plat],
    [storage(plat), kubernetes],
    ['core/v1', plat],
    ['example.com/v1', kubernetes],
    ['../v1', plat],
    ['', plat],
  ])('%j is no package', (apiVersion, vocabulary) => {
    expect(packageOf(apiVersion, vocabulary)).toBeUndefined();
  });

  it('spell some members differently', () => {
    const fields = jsonFields(parseTypeName('core/v1.NodeSystemInfo'));
    const different = fields.filter((field) => wireName(field, plat) !== wireName(field, kubernetes));
    expect(different.map((field) => field.upstream)).toEqual(different.map((f) => wireName(f, kubernetes)));
    expect(different).toHaveLength(2);
  });
});
