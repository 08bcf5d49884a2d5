import { describe, expect, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { readJsonSchema } from './json-schema.ts';
import { compilePlan } from './schema-plan.ts';
import { validateValue } from './validate-value.ts';

const prefix = VOCABULARIES.plat.schemaExtensionPrefix;
const x = (name: string): string => `${prefix}${name}`;
type Json = Readonly<Record<string, unknown>>;

/** FieldErrors of the member `v`, as `kind field detail`. */
function errorsOf(schema: Json, value: unknown): readonly string[] {
  const plan = compilePlan(readJsonSchema({ type: 'object', properties: { v: schema } }, prefix));
  return validateValue(plan, { v: value }).map(({ kind, field, detail }) =>
    `${kind.replace('FieldValue', '')} ${field} ${detail}`.trim(),
  );
}

const text = { type: 'string' };
const integer = { type: 'integer' };
const list = (items: Json, more: Json = {}): Json => ({ type: 'array', items, ...more });
const object = (properties: Json, more: Json = {}): Json => ({ type: 'object', properties, ...more });
const typeError = (wanted: string, found: string): string =>
  `TypeInvalid v v in body must be of type ${wanted}: "${found}"`;

describe('validateValue', () => {
  test.each<readonly [string, Json, unknown, readonly string[]]>([
    ['types', text, 1, [typeError('string', 'integer')]],
    ['integers', integer, 1.5, [typeError('integer', 'number')]],
    ['numbers that are integers', { type: 'number' }, 1, []],
    ['booleans', { type: 'boolean' }, 'true', [typeError('boolean', 'string')]],
    ['lists', list(text), {}, [typeError('array', 'object')]],
    ['objects', object({}), [], [typeError('object', 'array')]],
    ['null', text, null, [typeError('string', 'null')]],
    ['null where it may be', { ...text, nullable: true }, null, []],
    ['integers or texts', { [x('int-or-string')]: true }, '5%', []],
    [
      'neither integers nor texts',
      { [x('int-or-string')]: true },
      1.5,
      [typeError('integer,string', 'number')],
    ],
    ['lengths in characters', { ...text, maxLength: 2 }, '🍰🍰', []],
    ['texts that are too long', { ...text, maxLength: 2 }, 'abc', ['TooLong v may not be longer than 2']],
    [
      'texts that are too short',
      { ...text, minLength: 2 },
      '🍰',
      ['Invalid v v in body should be at least 2 chars long'],
    ],
    ['patterns', { ...text, pattern: '^a+$' }, 'ab', ["Invalid v v in body should match '^a+$'"]],
    ['forms', { ...text, format: 'ipv4' }, '1.2.3', ['Invalid v v in body must be of type ipv4: "1.2.3"']],
    ['unknown formats', { ...text, format: 'cake' }, 'x', []],
    [
      'least numbers',
      { ...integer, minimum: 1 },
      0,
      ['Invalid v v in body should be greater than or equal to 1'],
    ],
    [
      'exclusive limits',
      { ...integer, maximum: 1, exclusiveMaximum: true },
      1,
      ['Invalid v v in body should be less than 1'],
    ],
    ['multiples', { type: 'number', multipleOf: 0.1 }, 0.3, []],
    [
      'a number that is no multiple',
      { ...integer, multipleOf: 2 },
      3,
      ['Invalid v v in body should be a multiple of 2'],
    ],
    ['words', { ...text, enum: ['a', 'b'] }, 'c', ['NotSupported v supported values: "a", "b"']],
    ['words that are objects', object({ a: integer }, { enum: [{ a: 1 }] }), { a: 1 }, []],
    ['numbers of items', list(text, { maxItems: 1 }), ['a', 'b'], ['TooMany v must have at most 1 items']],
    ['too few items', list(text, { minItems: 1 }), [], ['Invalid v v in body should have at least 1 items']],
    ['items of a set', list(text, { [x('list-type')]: 'set' }), ['a', 'b', 'a'], ['Duplicate v[2]']],
    [
      'items of a map, by their keys',
      list(object({ k: text, o: integer }), { [x('list-type')]: 'map', [x('list-map-keys')]: ['k'] }),
      [{ k: 'a', o: 1 }, { k: 'a', o: 2 }, { o: 3 }, { o: 4 }],
      ['Duplicate v[1]', 'Duplicate v[3]'],
    ],
    [
      'members that must be there',
      object({ a: text }, { required: ['a', 'b'] }),
      { a: '' },
      ['Required v.b'],
    ],
    [
      'numbers of members',
      object({}, { minProperties: 1 }),
      {},
      ['Invalid v v in body should have at least 1 properties'],
    ],
    [
      'values of maps',
      { type: 'object', additionalProperties: integer },
      { a: 1, b: 'x' },
      ['TypeInvalid v.b v.b in body must be of type integer: "string"'],
    ],
    [
      'all of several',
      { ...text, allOf: [{ minLength: 1 }, { pattern: '^x' }] },
      'y',
      ['Invalid v v in body must validate all the schemas (allOf)', "Invalid v v in body should match '^x'"],
    ],
    ['any of several', { ...text, anyOf: [{ pattern: '^x' }, { pattern: '^y' }] }, 'y', []],
    [
      'one of several',
      { ...text, oneOf: [{ pattern: '^x' }, { pattern: 'y$' }] },
      'xy',
      ['Invalid v v in body must validate one and only one schema (oneOf). Found 2 valid alternatives'],
    ],
    [
      'none of these',
      { ...text, not: { enum: ['x'] } },
      'x',
      ['Invalid v v in body must not validate the schema (not)'],
    ],
    [
      'dependencies between members',
      object(
        { a: text, b: text },
        { anyOf: [{ required: ['a'] }, { properties: { b: { enum: ['only'] } }, required: ['b'] }] },
      ),
      { b: 'only' },
      [],
    ],
  ])('checks %s', (_, schema, value, errors) => {
    expect(errorsOf(schema, value)).toEqual(errors);
  });

  test('reports every error, up to a limit', () => {
    expect(errorsOf(list(integer), ['a', 1, 'b'])).toHaveLength(2);
    expect(errorsOf(list(integer), Array(1000).fill('a'))).toHaveLength(200);
  });

  test('gives up on expressions that take too long together', () => {
    const hostile = { ...text, pattern: '(a?){500}(x|y|z|aa|ab){400}b' };
    const texts = Array.from({ length: 300 }, (_, index) => `${'a'.repeat(300)}${index}`);
    const errors = errorsOf(list(hostile), texts);
    expect(errors.length).toBeGreaterThan(0);
    expect(errors.at(-1)).toContain('takes too long to be compared with');
  });

  test('gives up on alternatives that multiply', () => {
    const anyOf = Array.from({ length: 400 }, (_, index) => ({ enum: [`word-${index}`] }));
    const values = Array.from({ length: 1000 }, () => 'word-399');
    expect(errorsOf(list({ ...text, anyOf }), values).some((error) => error.includes('takes too long'))).toBe(
      true,
    );
    expect(errorsOf(list({ ...text, anyOf }), values.slice(0, 100))).toEqual([]);
    const not = { anyOf };
    const others = values.map(() => 'other');
    expect(errorsOf(list({ ...text, not }), others)).toHaveLength(1);
    expect(errorsOf(list({ ...text, not }), others.slice(0, 100))).toEqual([]);
  });
});
