import { describe, expect, test } from 'vitest';
import { finish } from '#api/kit/steps.ts';
import { createFieldErrors } from '#api/schema/validation/field-errors.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { readJsonSchema } from '../json-schema.ts';
import { escapeName } from './declare.ts';
import { compileRules, validateRules } from './rules.ts';
import { validateByRules } from './validate.ts';

const { schemaExtensionPrefix: prefix } = VOCABULARIES.plat;
const x = (name: string): string => `${prefix}${name}`;

type Json = Readonly<Record<string, unknown>>;

const rules = (...given: readonly (string | Json)[]): Json => ({
  [x('validations')]: given.map((rule) => (typeof rule === 'string' ? { rule } : rule)),
});
const spec = (schema: Json): Json => ({ type: 'object', properties: { spec: schema } });

function definitionErrors(schema: Json): readonly string[] {
  const errors = createFieldErrors();
  finish(validateRules(errors, readJsonSchema(schema, prefix), 's', prefix));
  return errors.all.map(({ kind, field, detail }) => `${kind.replace('FieldValue', '')} ${field}: ${detail}`);
}

function objectErrors(schema: Json, object: Json, old?: Json): readonly string[] {
  const plan = finish(compileRules(readJsonSchema(schema, prefix)));
  if (plan === undefined) throw new Error('there are no rules');
  return validateByRules(plan, object, old).map(({ field, detail }) => `${field}: ${detail}`);
}

const integer = { type: 'integer' };
const at = `s.properties[spec].${x('validations')}[0]`;
const pair = (...given: readonly (string | Json)[]): Json =>
  spec({ type: 'object', properties: { a: integer, b: integer }, ...rules(...given) });

describe('validateRules', () => {
  test.each<[string, Json, readonly string[]]>([
    ['a valid rule', pair('self.a < self.b'), []],
    ['a rule of the root', { type: 'object', ...rules('self.metadata.name.startsWith("a")') }, []],
    ['a transition rule', pair('self.a >= oldSelf.a'), []],
    ['no rule', pair({ rule: ' ' }), [`Required ${at}.rule: rule is not specified`]],
    [
      'an empty message',
      pair({ rule: 'true', message: ' ' }),
      [`Invalid ${at}.message: message must be non-empty if specified`],
    ],
    [
      'a long rule without a message',
      pair('true &&\ntrue'),
      [`Required ${at}.message: message must be specified if rule contains line breaks`],
    ],
    ['another type', pair('self.a'), [`Invalid ${at}.rule: cel expression must evaluate to a bool`]],
    [
      'an unknown field',
      pair('self.c > 1'),
      [`Invalid ${at}.rule: compilation failed: undefined field 'c' (at character 5)`],
    ],
  ])('%s', (_, schema, errors) => {
    expect(definitionErrors(schema)).toEqual(errors);
  });

  test('a transition rule needs items that can be found again', () => {
    const items = { type: 'object', properties: { k: { type: 'string' } }, ...rules('self.k == oldSelf.k') };
    const list = (more: Json): Json => spec({ type: 'array', maxItems: 10, items, ...more });
    expect(definitionErrors(list({}))).toEqual([
      expect.stringContaining('oldSelf cannot be used on the uncorrelatable portion of the schema'),
    ]);
    expect(definitionErrors(list({ [x('list-type')]: 'map', [x('list-map-keys')]: ['k'] }))).toEqual([]);
  });

  test('a rule may not cost too much, by the bounds of the schema', () => {
    const list = (more: Json): Json =>
      spec({ type: 'array', items: integer, ...more, ...rules('self.all(a, self.all(b, a + b > 0))') });
    expect(definitionErrors(list({ maxItems: 100 }))).toEqual([]);
    expect(definitionErrors(list({}))).toEqual([
      expect.stringMatching(/^Forbidden .*estimated rule cost exceeds budget by factor of more than 100x/),
      expect.stringMatching(/^Forbidden s: estimated rule cost total for entire OpenAPIv3 schema exceeds/),
    ]);
  });
});

describe('validateByRules', () => {
  test('reports the message, or the rule, at the path of the value', () => {
    const schema = pair('self.a < self.b', { rule: 'self.a != 2', message: 'a must not be 2' });
    expect(objectErrors(schema, { spec: { a: 1, b: 2 } })).toEqual([]);
    expect(objectErrors(schema, { spec: { a: 2, b: 1 } })).toEqual([
      'spec: failed rule: self.a < self.b',
      'spec: a must not be 2',
    ]);
  });

  test('reports errors of the evaluation', () => {
    expect(objectErrors(pair('self.a / self.b > 0'), { spec: { a: 1, b: 0 } })).toEqual([
      'spec: division by zero evaluating rule: self.a / self.b > 0',
    ]);
    expect(objectErrors(pair('self.a > 0'), { spec: {} })).toEqual([
      'spec: no such key: a evaluating rule: self.a > 0',
    ]);
  });

  test('transition rules compare with the value before', () => {
    const schema = pair('self.a >= oldSelf.a');
    expect(objectErrors(schema, { spec: { a: 1 } })).toEqual([]);
    expect(objectErrors(schema, { spec: { a: 2 } }, { spec: { a: 1 } })).toEqual([]);
    expect(objectErrors(schema, { spec: { a: 1 } }, { spec: { a: 2 } })).toEqual([
      'spec: failed rule: self.a >= oldSelf.a',
    ]);
    expect(objectErrors(schema, { spec: { a: 1 } }, {})).toEqual([]);
  });

  test('items of a list map and members of a map are found by their keys', () => {
    const item = {
      type: 'object',
      properties: { k: { type: 'string' }, v: integer },
      ...rules('self.v >= oldSelf.v'),
    };
    const list = spec({ type: 'array', items: item, [x('list-type')]: 'map', [x('list-map-keys')]: ['k'] });
    const object = (a: number, b: number): Json => ({
      spec: [
        { k: 'a', v: a },
        { k: 'b', v: b },
      ],
    });
    const turned = {
      spec: [
        { k: 'b', v: 1 },
        { k: 'a', v: 1 },
      ],
    };
    expect(objectErrors(list, object(1, 0), turned)).toEqual(['spec[1]: failed rule: self.v >= oldSelf.v']);
    const map = spec({ type: 'object', additionalProperties: item });
    expect(objectErrors(map, { spec: { one: { v: 1 } } }, { spec: { one: { v: 2 } } })).toEqual([
      'spec.one: failed rule: self.v >= oldSelf.v',
    ]);
  });

  test('a rule that costs too much ends the validation', () => {
    const schema = spec({
      type: 'array',
      items: integer,
      ...rules('self.all(a, self.all(b, a + b >= 0))', 'false'),
    });
    const long = { spec: Array.from({ length: 2000 }, () => 1) };
    expect(objectErrors(schema, long)).toEqual([
      'spec: no further validation rules will be run due to call cost exceeds limit for rule: self.all(a, self.all(b, a + b >= 0))',
    ]);
  });
});

test.each([
  ['a', 'a'],
  ['a-b', 'a__dash__b'],
  ['a.b/c', 'a__dot__b__slash__c'],
  ['a__b', 'a__underscores__b'],
  ['in', '__in__'],
  ['1a', undefined],
  ['a b', undefined],
])('the field %s is named %s', (name, escaped) => {
  expect(escapeName(name)).toBe(escaped);
});
