import {
  assert,
  constantFrom,
  dictionary,
  integer,
  jsonValue,
  letrec,
  option,
  property,
  record,
} from 'fast-check';
import { describe, expect, test } from 'vitest';
import { VOCABULARIES, type Vocabulary } from '#api/vocabulary.ts';
import type { ApiObject } from '../../resources/contract.ts';
import { type CustomSchema, createCustomSchema } from './custom-schema.ts';

const vocabulary: Vocabulary = VOCABULARIES.plat;
const x = (name: string): string => `${vocabulary.schemaExtensionPrefix}${name}`;

type Json = Readonly<Record<string, unknown>>;

const schemaOf = (properties: Json, more: Json = {}): CustomSchema =>
  createCustomSchema({
    apiVersion: 'shop.example/v1',
    kind: 'Cake',
    schema: () => ({ type: 'object', properties, ...more }),
    vocabulary,
  });

const cake = (members: Json = {}): Json => ({
  apiVersion: 'shop.example/v1',
  kind: 'Cake',
  metadata: { name: 'a' },
  ...members,
});

/** Members beside those that every object has. */
function decoded(schema: CustomSchema, members: Json): Json {
  const { apiVersion: _, kind: _k, metadata: _m, ...rest } = schema.decode(cake(members)).object;
  return rest;
}

const unknownOf = (schema: CustomSchema, members: Json): readonly string[] =>
  schema.decode(cake(members)).unknown.map(({ field }) => field);

const text = { type: 'string' };
const free = { type: 'object', [x('preserve-unknown-fields')]: true };

describe('decode leaves out undeclared members', () => {
  test.each<readonly [string, Json, Json, Json, readonly string[]]>([
    ['a member', { a: text }, { a: '1', b: 2 }, { a: '1' }, ['b']],
    [
      'a member deep inside',
      {
        a: {
          type: 'object',
          properties: { b: { type: 'array', items: { type: 'object', properties: { c: text } } } },
        },
      },
      { a: { b: [{ c: '1' }, { d: 1 }] } },
      { a: { b: [{ c: '1' }, {}] } },
      ['a.b[1].d'],
    ],
    [
      'but nothing where unknown members are preserved',
      { a: free },
      { a: { b: { c: [1] } } },
      { a: { b: { c: [1] } } },
      [],
    ],
    [
      'inside of declared members although the rest is preserved',
      { a: { ...free, properties: { known: { type: 'object', properties: { k: text } } } } },
      { a: { known: { k: '1', l: 2 }, other: { m: 3 } } },
      { a: { known: { k: '1' }, other: { m: 3 } } },
      ['a.known.l'],
    ],
    [
      'in the values of a map',
      { a: { type: 'object', additionalProperties: { type: 'object', properties: { k: text } } } },
      { a: { one: { k: '1', l: 2 } } },
      { a: { one: { k: '1' } } },
      ['a.one.l'],
    ],
    [
      'but no entry of a map of scalars',
      { a: { type: 'object', additionalProperties: { type: 'integer' } } },
      { a: { x: 1, y: 2 } },
      { a: { x: 1, y: 2 } },
      [],
    ],
    ['of an object without members', { a: { type: 'object' } }, { a: { b: 1 } }, { a: {} }, ['a.b']],
    [
      'and takes names of all objects as names',
      { a: text },
      { a: '1', ['constructor']: 1 },
      { a: '1' },
      ['constructor'],
    ],
  ])('%s', (_, properties, given, expected, unknown) => {
    const schema = schemaOf(properties);
    expect(decoded(schema, given)).toEqual(expected);
    expect(unknownOf(schema, given)).toEqual(unknown);
  });

  test('but in embedded objects only unknown members of metadata', () => {
    const schema = schemaOf({ a: { ...free, [x('embedded-resource')]: true } });
    const given = { a: { apiVersion: 'v1', kind: 'K', metadata: { name: 'n', odd: 1 }, data: 1 } };
    expect(decoded(schema, given)).toEqual({
      a: { apiVersion: 'v1', kind: 'K', metadata: { name: 'n' }, data: 1 },
    });
    expect(unknownOf(schema, given)).toEqual(['a.metadata.odd']);
  });

  test('and refuses metadata of another shape', () => {
    const { errors } = schemaOf({}).decode({ ...cake(), metadata: { labels: { a: 1 } } });
    expect(errors.map(({ field }) => field)).toEqual(['metadata.labels.a']);
  });
});

describe('decode fills in defaults', () => {
  test.each<readonly [string, Json, Json, Json]>([
    ['of members that are not there', { a: { ...text, default: 'd' } }, {}, { a: 'd' }],
    ['but not of those that are', { a: { ...text, default: 'd' } }, { a: '' }, { a: '' }],
    ['of null', { a: { ...text, default: 'd' } }, { a: null }, { a: 'd' }],
    [
      'but not of null where it may be',
      { a: { ...text, default: 'd', nullable: true } },
      { a: null },
      { a: null },
    ],
    ['and takes null without a default for nothing', { a: text, b: text }, { a: null, b: 'x' }, { b: 'x' }],
    [
      'but leaves null in lists to validation',
      { a: { type: 'array', items: text } },
      { a: [null] },
      { a: [null] },
    ],
    ['and null that nothing is known of alone', { a: free }, { a: { b: null } }, { a: { b: null } }],
    [
      'inside of defaults',
      { a: { type: 'object', default: {}, properties: { b: { type: 'integer', default: 1 } } } },
      {},
      { a: { b: 1 } },
    ],
    [
      'but makes no object for them',
      { a: { type: 'object', properties: { b: { type: 'integer', default: 1 } } } },
      {},
      {},
    ],
    [
      'in items and values of maps',
      {
        a: { type: 'array', items: { type: 'object', properties: { b: { type: 'integer', default: 1 } } } },
        m: {
          type: 'object',
          additionalProperties: { type: 'object', properties: { c: { ...text, default: 'x' } } },
        },
      },
      { a: [{}, { b: 2 }], m: { k: {} } },
      { a: [{ b: 1 }, { b: 2 }], m: { k: { c: 'x' } } },
    ],
  ])('%s', (_, properties, given, expected) => {
    expect(decoded(schemaOf(properties), given)).toEqual(expected);
  });

  test('each of its own', () => {
    const schema = schemaOf({ a: { type: 'array', items: text, default: ['x'] } });
    const first = schema.decode(cake()).object;
    (first['a'] as string[]).push('y');
    expect(decoded(schema, {})).toEqual({ a: ['x'] });
  });
});

describe('any object under any schema', () => {
  /** Structural schemas with defaults that they take. */
  const { node } = letrec<{ node: Json }>((tie) => ({
    node: option(
      record({
        kind: constantFrom('text', 'integer', 'list', 'object', 'map', 'free'),
        members: dictionary(constantFrom('a', 'b', 'c', 'd'), tie('node'), { maxKeys: 3 }),
        inner: tie('node'),
        withDefault: integer({ min: 0, max: 1 }),
        nullable: integer({ min: 0, max: 1 }),
      }),
      { nil: undefined, depthSize: 'small', maxDepth: 4 },
    ).map((shape): Json => {
      if (shape === undefined) return { type: 'boolean' };
      const { kind, members, inner, withDefault, nullable } = shape;
      const common = nullable === 1 ? { nullable: true } : {};
      const given = (value: unknown): Json => ({
        ...common,
        ...(withDefault === 1 ? { default: value } : {}),
      });
      switch (kind) {
        case 'text':
          return { type: 'string', ...given('d') };
        case 'integer':
          return { type: 'integer', ...given(7) };
        case 'list':
          return { type: 'array', items: inner, ...given([]) };
        case 'map':
          return { type: 'object', additionalProperties: inner, ...given({}) };
        case 'free':
          return { ...free, ...given({ any: 1 }) };
        case 'object':
          return { type: 'object', properties: members, ...given({}) };
        default:
          return kind satisfies never;
      }
    }),
  }));
  const schemas = dictionary(constantFrom('a', 'b', 'c'), node, { maxKeys: 3 }).map((members) =>
    schemaOf(members),
  );
  const values = dictionary(constantFrom('a', 'b', 'c', 'z'), jsonValue({ maxDepth: 4 }));

  test('is the same when it is read again', () => {
    assert(
      property(schemas, values, (schema, members) => {
        const once = schema.decode(cake(members));
        const twice = schema.decode(structuredClone(once.object));
        expect(twice.object).toEqual(once.object);
        expect(twice.unknown).toEqual([]);
      }),
    );
  });

  test('is the same when it is adopted, pruned or defaulted again, and a read object needs none of that', () => {
    assert(
      property(schemas, values, (schema, members) => {
        const raw = cake(members) as unknown as ApiObject;
        const adopted = schema.adopt(raw);
        expect(schema.adopt(adopted)).toEqual(adopted);
        expect(schema.prune(adopted)).toEqual(adopted);
        const filled = structuredClone(adopted);
        schema.applyDefaults(filled);
        expect(filled).toEqual(adopted);
        expect(schema.decode(structuredClone(raw)).object).toEqual(adopted);
        expect(schema.adopt(schema.prune(raw))).toEqual(adopted);
      }),
    );
  });

  test('is never changed by being read or checked', () => {
    assert(
      property(schemas, values, (schema, members) => {
        const given = cake(members);
        const before = structuredClone(given);
        schema.decode(given);
        schema.adopt(given as unknown as ApiObject);
        schema.validate(given as unknown as ApiObject);
        expect(given).toEqual(before);
      }),
    );
  });
});

test('without a schema anything goes', () => {
  const schema = createCustomSchema({
    apiVersion: 'shop.example/v1',
    kind: 'Cake',
    schema: () => undefined,
    vocabulary,
  });
  expect(decoded(schema, { any: { thing: [1] } })).toEqual({ any: { thing: [1] } });
  expect(schema.validate(cake({ any: 1 }) as unknown as ApiObject)).toEqual([]);
  expect(schema.describe?.()).toBeUndefined();
});
