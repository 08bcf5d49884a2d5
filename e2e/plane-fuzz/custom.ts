/** Custom resource whose schema uses every feature. */
import type { Vocabulary } from '#api/vocabulary.ts';

type Json = Readonly<Record<string, unknown>>;

export const CUSTOM_GROUP = 'fuzz.example.com';
const text: Json = { type: 'string' };
const number: Json = { type: 'integer', minimum: 0, maximum: 1000, default: 1 };

function schemaOf(words: Vocabulary): Json {
  const x = (name: string): string => words.schemaExtensionPrefix + name;
  return {
    type: 'object',
    properties: {
      spec: {
        type: 'object',
        required: ['size'],
        properties: {
          size: number,
          ratio: { type: 'number', multipleOf: 0.5, exclusiveMinimum: true, minimum: 0 },
          word: { type: 'string', pattern: '^(a|ab)*c?$', maxLength: 40, nullable: true },
          choice: { type: 'string', enum: ['a', 'b'], default: 'a' },
          when: { type: 'string', format: 'date-time' },
          port: { [x('int-or-string')]: true },
          set: { type: 'array', items: text, [x('list-type')]: 'set', maxItems: 10 },
          items: {
            type: 'array',
            items: {
              type: 'object',
              required: ['name'],
              properties: { name: text, protocol: { type: 'string', default: 'TCP' }, weight: number },
            },
            [x('list-type')]: 'map',
            [x('list-map-keys')]: ['name', 'protocol'],
          },
          free: { type: 'object', [x('preserve-unknown-fields')]: true },
          map: { type: 'object', additionalProperties: { type: 'array', items: number }, maxProperties: 5 },
          atomic: { type: 'object', additionalProperties: text, [x('map-type')]: 'atomic' },
          template: { type: 'object', [x('embedded-resource')]: true, [x('preserve-unknown-fields')]: true },
          either: {
            type: 'object',
            properties: { a: text, b: text },
            oneOf: [{ required: ['a'] }, { required: ['b'] }],
          },
        },
      },
      status: {
        type: 'object',
        properties: {
          replicas: { type: 'integer' },
          selector: text,
          conditions: { type: 'array', items: { type: 'object', [x('preserve-unknown-fields')]: true } },
        },
      },
    },
  };
}

export function customDefinition(words: Vocabulary): Json {
  const schema = { openAPIV3Schema: schemaOf(words) };
  const subresources = {
    status: {},
    scale: {
      specReplicasPath: '.spec.size',
      statusReplicasPath: '.status.replicas',
      labelSelectorPath: '.status.selector',
    },
  };
  const additionalPrinterColumns = [
    { name: 'Size', type: 'integer', jsonPath: '.spec.size' },
    { name: 'Names', type: 'string', jsonPath: '.spec.items[*].name' },
    { name: 'When', type: 'date', jsonPath: '.spec.when' },
  ];
  const version = { served: true, schema, subresources, additionalPrinterColumns };
  return {
    metadata: { name: `samples.${CUSTOM_GROUP}` },
    spec: {
      group: CUSTOM_GROUP,
      names: {
        plural: 'samples',
        singular: 'sample',
        kind: 'Sample',
        shortNames: ['sa'],
        categories: ['all'],
      },
      scope: 'Namespaced',
      versions: [
        { name: 'v1', storage: true, ...version },
        { name: 'v2', storage: false, ...version },
      ],
    },
  };
}

export const customObject = (version: string): Json => ({
  apiVersion: `${CUSTOM_GROUP}/${version}`,
  kind: 'Sample',
  metadata: { name: `sample-${version}` },
  spec: {
    size: 3,
    ratio: 1.5,
    word: 'abab',
    when: '2026-01-01T00:00:00Z',
    port: '80%',
    set: ['a', 'b'],
    items: [{ name: 'a' }, { name: 'b', protocol: 'UDP', weight: 2 }],
    free: { any: [1, { a: null }] },
    map: { a: [1, 2] },
    atomic: { a: 'b' },
    template: { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec: {} },
    either: { a: 'x' },
  },
});
