/** Malicious schemas and objects: every one is reported as a validation error or harmless. */
import {
  type Arbitrary,
  array,
  assert,
  boolean,
  constantFrom,
  dictionary,
  double,
  integer,
  jsonValue,
  letrec,
  oneof,
  property,
} from 'fast-check';
import { describe, expect, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import type { ApiObject } from '../resources/contract.ts';
import { createCustomSchema } from './schema/custom-schema.ts';
import { readJsonSchema } from './schema/json-schema.ts';
import { schemaErrors } from './schema/structural-schema.ts';

const vocabulary = VOCABULARIES.plat;
const prefix = vocabulary.schemaExtensionPrefix;
const context = { vocabulary, gates: new Set<string>() };
const names = constantFrom('a', 'b', 'metadata', 'status', '__proto__', 'constructor', 'items');
const flag = boolean();
const pattern = constantFrom(
  '^a+$',
  '(a+)+$',
  '[[:alpha:]]*',
  '(?i)x{0,40}',
  '(',
  '\\p{Greek}',
  'a{1001}',
  '(?=a)',
);

/** A member of a schema, as it should be but for some. */
const keyword = (inner: Arbitrary<unknown>): Arbitrary<readonly [string, unknown]> => {
  const of = (name: string, value: Arbitrary<unknown>): Arbitrary<readonly [string, unknown]> =>
    value.map((given) => [name, given] as const);
  const types = ['object', 'object', 'array', 'string', 'integer', 'number', 'boolean', 'null', 'cake'];
  const type = of('type', constantFrom(...types));
  return oneof(
    type,
    type,
    type,
    of('format', constantFrom('date-time', 'ipv4', 'uri', 'byte', 'cake')),
    of('pattern', pattern),
    of('minLength', integer({ min: -1, max: 5 })),
    of('maxLength', integer({ min: -1, max: 5 })),
    of('minimum', double()),
    of('multipleOf', double()),
    of('enum', array(jsonValue({ maxDepth: 2 }), { maxLength: 3 })),
    of('default', jsonValue({ maxDepth: 3 })),
    of('nullable', flag),
    of('uniqueItems', flag),
    of('required', array(names, { maxLength: 2 })),
    of('properties', dictionary(names, inner, { maxKeys: 3 })),
    of('properties', dictionary(names, inner, { maxKeys: 3 })),
    of('additionalProperties', oneof(flag, inner)),
    of('items', oneof(inner, array(inner, { maxLength: 2 }))),
    of('allOf', array(inner, { maxLength: 2 })),
    of('anyOf', array(inner, { maxLength: 2 })),
    of('oneOf', array(inner, { maxLength: 2 })),
    of('not', inner),
    of(`${prefix}preserve-unknown-fields`, flag),
    of(`${prefix}embedded-resource`, flag),
    of(`${prefix}int-or-string`, flag),
    of(`${prefix}list-type`, constantFrom('set', 'map', 'atomic', 'heap')),
    of(`${prefix}list-map-keys`, array(names, { maxLength: 2 })),
    of(`${prefix}map-type`, constantFrom('atomic', 'granular', 'odd')),
  );
};

const { schema } = letrec<{ schema: unknown }>((tie) => ({
  schema: oneof(
    { maxDepth: 4, depthSize: 'small' },
    array(keyword(tie('schema')), { maxLength: 4 }).map((members): unknown => Object.fromEntries(members)),
    jsonValue({ maxDepth: 2 }),
  ),
}));
const values = dictionary(names, jsonValue({ maxDepth: 4 }));

const errorsOf = (given: unknown): number =>
  schemaErrors(readJsonSchema(given, prefix), 's', true, context).length;

describe('any schema', () => {
  test('is read and judged', () => {
    assert(
      property(schema, (given) => {
        expect(errorsOf({ type: 'object', properties: { v: given } })).toBeGreaterThanOrEqual(0);
      }),
      { numRuns: 500 },
    );
  });

  test('that is good reads and checks any object', () => {
    let good = 0;
    assert(
      property(schema, values, (given, members) => {
        const root = { type: 'object', properties: { a: given, status: given } };
        if (errorsOf(root) > 0) return;
        good += 1;
        const made = createCustomSchema({
          apiVersion: 'x.example/v1',
          kind: 'X',
          schema: () => root,
          vocabulary,
        });
        const { object } = made.decode({
          ...members,
          apiVersion: 'x.example/v1',
          kind: 'X',
          metadata: { name: 'x' },
        });
        expect(made.validate(object)).toBeInstanceOf(Array);
        expect(made.validate(object, 'status')).toBeInstanceOf(Array);
        expect(made.model.root.kind).toBe('struct');
        expect(Object.getPrototypeOf(made.adopt(object))).toBe(Object.prototype);
      }),
      { numRuns: 1000 },
    );
    expect(good).toBeGreaterThan(10);
  });
});

test('no member of an object becomes one of all objects', () => {
  const root = {
    type: 'object',
    properties: { a: { type: 'object', additionalProperties: { type: 'object' } } },
  };
  const made = createCustomSchema({ apiVersion: 'x.example/v1', kind: 'X', schema: () => root, vocabulary });
  const given: unknown = JSON.parse(
    '{"metadata":{"name":"x"},"a":{"__proto__":{"polluted":{}}},"__proto__":{"b":1}}',
  );
  const { object, unknown } = made.decode(given);
  expect(JSON.stringify(object['a'])).toBe('{"__proto__":{}}');
  expect(unknown.map(({ field }) => field)).toEqual(['a.__proto__.polluted', '__proto__']);
  expect(({} as unknown as ApiObject)['polluted']).toBeUndefined();
});
