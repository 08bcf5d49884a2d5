import { describe, expect, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { readJsonSchema } from './json-schema.ts';
import { EXPRESSIONS_GATE, schemaErrors } from './structural-schema.ts';

const vocabulary = VOCABULARIES.plat;
const prefix = vocabulary.schemaExtensionPrefix;
const x = (name: string): string => `${prefix}${name}`;
type Json = Readonly<Record<string, unknown>>;

function errorsOf(root: Json, hasStatusPart = false, gates: readonly string[] = []): readonly string[] {
  const context = { vocabulary, gates: new Set(gates) };
  return schemaErrors(readJsonSchema(root, prefix), 's', hasStatusPart, context).map(
    ({ kind, field }) => `${kind.replace('FieldValue', '')} ${field}`,
  );
}

/** The schema of a member `v`. */
const of = (schema: Json): readonly string[] =>
  errorsOf({ type: 'object', properties: { v: schema } }).map((error) =>
    error.replace('s.properties[v]', 'v'),
  );

const text = { type: 'string' };
const list = (items: Json, more: Json): Json => ({ type: 'array', items, ...more });
const keyed = { type: 'object', required: ['k'], properties: { k: text } };

describe('schemaErrors', () => {
  test.each<readonly [string, Json, readonly string[]]>([
    ['nothing of a good schema', { type: 'object', properties: { a: { ...text, default: 'x' } } }, []],
    ['a missing type', { properties: { a: text } }, ['Required v.type']],
    ['a type that there is not', { type: 'text' }, ['NotSupported v.type']],
    ['the type null', { type: 'null' }, ['Forbidden v.type']],
    ['no type where unknown members are preserved', { [x('preserve-unknown-fields')]: true }, []],
    ['no type of an integer or text', { [x('int-or-string')]: true }, []],
    ['lists without items', { type: 'array' }, ['Required v.items']],
    ['lists of several schemas', { type: 'array', items: [text] }, ['Forbidden v.items']],
    ['members beside values of a map', { type: 'object', properties: {}, additionalProperties: false }, []],
    ['references', { ...text, $ref: '#/x' }, ['Forbidden v.$ref']],
    ['unique items', list(text, { uniqueItems: true }), ['Forbidden v.uniqueItems']],
    ['expressions that are none', { ...text, pattern: '(' }, ['Invalid v.pattern']],
    ['expressions without end', { ...text, pattern: '(a{1000}){1000}' }, ['Invalid v.pattern']],
    [
      'preserving set to false',
      { type: 'object', [x('preserve-unknown-fields')]: false },
      [`Invalid v.${x('preserve-unknown-fields')}`],
    ],
    ['types of lists', list(text, { [x('list-type')]: 'heap' }), [`NotSupported v.${x('list-type')}`]],
    ['list types of a value that is no list', { ...text, [x('list-type')]: 'set' }, ['Invalid v.type']],
    ['maps without keys', list(keyed, { [x('list-type')]: 'map' }), [`Required v.${x('list-map-keys')}`]],
    ['keys without maps', list(keyed, { [x('list-map-keys')]: ['k'] }), [`Required v.${x('list-type')}`]],
    [
      'keys that are no members',
      list(keyed, { [x('list-type')]: 'map', [x('list-map-keys')]: ['z'] }),
      [`Invalid v.${x('list-map-keys')}`],
    ],
    [
      'keys that items may lack',
      list(
        { type: 'object', properties: { k: text } },
        { [x('list-type')]: 'map', [x('list-map-keys')]: ['k'] },
      ),
      ['Required v.items.properties[k].default'],
    ],
    ['sets of objects', list(keyed, { [x('list-type')]: 'set' }), [`Invalid v.items.${x('map-type')}`]],
    ['types of maps', { type: 'object', [x('map-type')]: 'odd' }, [`NotSupported v.${x('map-type')}`]],
    [
      'embedded objects that are none',
      { ...text, [x('embedded-resource')]: true },
      ['Invalid v.type', 'Required v.properties'],
    ],
    [
      'structure inside of logic',
      { type: 'object', anyOf: [{ type: 'object', nullable: true }] },
      ['Forbidden v.anyOf[0].type', 'Forbidden v.anyOf[0].nullable'],
    ],
    [
      'members in logical schemas only',
      { type: 'object', allOf: [{ properties: { z: { minLength: 1 } } }] },
      ['Required v.properties[z]'],
    ],
    [
      'integers or strings in logical keywords',
      { [x('int-or-string')]: true, anyOf: [{ type: 'integer' }, text] },
      [],
    ],
    ['defaults of another type', { type: 'integer', default: 'x' }, ['TypeInvalid v.default']],
    ['defaults that would be pruned', { type: 'object', default: { z: 1 } }, ['Invalid v.default']],
    [
      'defaults that are invalid inside',
      { type: 'object', properties: { a: { ...text, minLength: 2 } }, default: { a: 'x' } },
      ['Invalid v.default.a'],
    ],
    [
      'defaults in the values of maps',
      { type: 'object', additionalProperties: { type: 'integer', default: true } },
      ['TypeInvalid v.additionalProperties.default'],
    ],
  ])('reports %s', (_, schema, errors) => {
    expect([...of(schema)].toSorted()).toEqual([...errors].toSorted());
  });

  test.each<readonly [string, Json, boolean, readonly string[]]>([
    ['a root that is no object', text, false, ['Invalid s.type']],
    ['a root that may be null', { type: 'object', nullable: true }, false, ['Forbidden s.nullable']],
    [
      'values of a map at the root',
      { type: 'object', additionalProperties: text },
      false,
      ['Forbidden s.additionalProperties'],
    ],
    [
      'logic at the root beside a status part',
      { type: 'object', anyOf: [{ required: ['a'] }] },
      true,
      ['Invalid s.anyOf'],
    ],
    [
      'metadata of another type',
      { type: 'object', properties: { metadata: text } },
      false,
      ['Invalid s.properties[metadata].type'],
    ],
    [
      'rules of names alone in metadata',
      {
        type: 'object',
        properties: { metadata: { type: 'object', properties: { name: { ...text, maxLength: 5 } } } },
      },
      false,
      [],
    ],
  ])('reports %s', (_, root, hasStatusPart, errors) => {
    expect(errorsOf(root, hasStatusPart)).toEqual(errors);
  });

  test('rules in expressions need their gate', () => {
    const root = {
      type: 'object',
      properties: { a: { ...text, [x('validations')]: [{ rule: 'self != ""' }] } },
    };
    expect(errorsOf(root)).toEqual([`Forbidden s.properties[a].${x('validations')}`]);
    expect(errorsOf(root, false, [EXPRESSIONS_GATE])).toEqual([]);
  });

  test('many large expressions are too many', () => {
    const properties = Object.fromEntries(
      Array.from({ length: 20 }, (_, index) => [`p${index}`, { ...text, pattern: `(a{900}){10}${index}` }]),
    );
    expect(errorsOf({ type: 'object', properties })).toEqual(['Invalid s']);
  });
});
