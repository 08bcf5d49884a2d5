import { describe, expect, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import type { Resource } from '../resources/contract.ts';
import { outline2, outline3 } from './documents.ts';
import { at, described, documentOf, type Json } from './openapi.fixture.ts';

const vocabulary = VOCABULARIES.plat;
const X = vocabulary.schemaExtensionPrefix;
const NAME = 'com.example.stable.v1.CronTab';
const GVK = { group: 'stable.example.com', version: 'v1' };
const MARK = { [`${X}group-version-kind`]: [{ ...GVK, kind: 'CronTab' }] };

const in2 = (resource: Resource): Json =>
  at(documentOf(outline2({ resources: [resource] }, vocabulary)), 'definitions');
const in3 = (resource: Resource): Json =>
  at(documentOf(outline3({ resources: [resource] }, vocabulary)), 'components', 'schemas');
/** The published schema of a member. */
const member2 = (schema: object): unknown =>
  at(in2(described({ type: 'object', properties: { m: schema } })), NAME, 'properties')['m'];

describe('a custom kind', () => {
  test('has the members of every object beside its own', () => {
    const resource = described({
      type: 'object',
      description: 'Says when.',
      properties: { spec: { type: 'object' }, metadata: { type: 'object' } },
    });
    for (const definitions of [in2(resource), in3(resource)]) {
      const definition = at(definitions, NAME);
      expect(definition).toMatchObject({ type: 'object', description: 'Says when.', ...MARK });
      const members = at(definition, 'properties');
      expect(Object.keys(members).toSorted()).toEqual(['apiVersion', 'kind', 'metadata', 'spec']);
      expect(JSON.stringify(members['metadata'])).toContain('ObjectMeta');
    }
  });

  test('describes what every object has in words that begin as upstream’s', () => {
    const definitions = in2(described({ type: 'object', properties: { spec: { type: 'object' } } }));
    const members = at(definitions, NAME, 'properties');
    const meta = Object.keys(definitions).find((name) => name.endsWith('.ObjectMeta')) ?? '';
    const texts = [
      at(members, 'apiVersion'),
      at(members, 'kind'),
      at(members, 'metadata'),
      at(definitions, meta, 'properties', 'creationTimestamp'),
    ].map(({ description }) => description);
    expect(texts).toEqual([
      expect.stringMatching(/^APIVersion defines/),
      expect.stringMatching(/^Kind /),
      expect.stringMatching(/^Standard object's metadata/),
      expect.stringMatching(/^CreationTimestamp is a timestamp/),
    ]);
  });

  test('has a list', () => {
    const definitions = in3(described({ type: 'object' }));
    expect(at(definitions, `${NAME}List`)).toMatchObject({
      type: 'object',
      required: ['items'],
      properties: { items: { type: 'array', items: { $ref: `#/components/schemas/${NAME}` } } },
      [`${X}group-version-kind`]: [{ ...GVK, kind: 'CronTabList' }],
    });
  });

  test.each([
    ['without a schema', undefined],
    [
      'whose unknown members are kept',
      { type: 'object', [`${X}preserve-unknown-fields`]: true, properties: {} },
    ],
  ])('%s names no member where clients would refuse all others', (_, schema) => {
    expect(at(in2(described(schema)), NAME)).toEqual({ type: 'object', ...MARK });
  });

  test('keeps its schema as it is in OpenAPI 3', () => {
    const spec = { type: 'object', nullable: true, anyOf: [{ required: ['a'] }], [`${X}validations`]: [] };
    const definition = at(in3(described({ type: 'object', properties: { spec } })), NAME);
    expect(at(definition, 'properties')['spec']).toEqual(spec);
  });
});

describe('the operations of a custom kind', () => {
  const path = '/apis/stable.example.com/v1/namespaces/{namespace}/crontabs/{name}';
  const patches = [
    'application/json-patch+json',
    'application/merge-patch+json',
    'application/apply-patch+yaml',
  ];

  test('have neither strategic merge patches nor protobuf responses', () => {
    const resource = described({ type: 'object' });
    const patch2 = at(documentOf(outline2({ resources: [resource] }, vocabulary)), 'paths', path, 'patch');
    expect(patch2).toMatchObject({ consumes: patches, produces: ['application/json', 'application/yaml'] });
    const patch3 = at(documentOf(outline3({ resources: [resource] }, vocabulary)), 'paths', path, 'patch');
    expect(Object.keys(at(patch3, 'requestBody', 'content'))).toEqual(patches);
    expect(JSON.stringify(at(patch3, 'responses'))).not.toContain(vocabulary.protobufContentType);
  });
});

describe('a schema in OpenAPI 2', () => {
  const inner = { type: 'object', properties: { a: { type: 'string' } } };
  test.each<[string, object, object]>([
    ['drops what there is no word for', { type: 'string', oneOf: [], nullable: false }, { type: 'string' }],
    [
      'keeps limits',
      { type: 'integer', minimum: 1, default: 2 },
      { type: 'integer', minimum: 1, default: 2 },
    ],
    [
      'lets what may be null be anything',
      { ...inner, nullable: true, description: 'd' },
      { description: 'd' },
    ],
    [
      'lets numbers and texts be',
      { [`${X}int-or-string`]: true, anyOf: [] },
      { [`${X}int-or-string`]: true },
    ],
    [
      'names neither type nor members where unknown ones are kept',
      { ...inner, [`${X}preserve-unknown-fields`]: true },
      { [`${X}preserve-unknown-fields`]: true },
    ],
    [
      'goes into lists',
      { type: 'array', items: { ...inner, not: {} }, [`${X}list-type`]: 'set' },
      { type: 'array', items: inner, [`${X}list-type`]: 'set' },
    ],
    [
      'goes into maps',
      { type: 'object', additionalProperties: { type: 'string', nullable: true } },
      { type: 'object', additionalProperties: {} },
    ],
    [
      'asks for no member that may be null',
      { ...inner, required: ['a', 'b'], properties: { a: { nullable: true }, b: {} } },
      { type: 'object', required: ['b'], properties: { a: {}, b: {} } },
    ],
  ])('%s', (_, schema, wanted) => {
    expect(member2(schema)).toEqual(wanted);
  });

  test('gives whole objects inside of an object their members', () => {
    const embedded = { ...inner, [`${X}embedded-resource`]: true };
    const open = { ...embedded, [`${X}preserve-unknown-fields`]: true };
    expect(Object.keys(at(member2(embedded), 'properties')).toSorted()).toEqual([
      'a',
      'apiVersion',
      'kind',
      'metadata',
    ]);
    expect(member2(open)).not.toHaveProperty('properties');
  });
});
