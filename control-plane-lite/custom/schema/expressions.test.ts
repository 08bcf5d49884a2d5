import { expect, test } from 'vitest';
import type { CustomResourceDefinition } from '#api/gen/apiextensions-v1.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { dropExpressions } from './expressions.ts';
import { EXPRESSIONS_GATE } from './structural-schema.ts';

const vocabulary = VOCABULARIES.plat;
const member = `${vocabulary.schemaExtensionPrefix}validations`;
const rules = { [member]: [{ rule: 'true' }] };

const definition = (schema: object): CustomResourceDefinition => ({
  spec: {
    group: 'shop.example',
    scope: 'Cluster',
    names: { plural: 'cakes', kind: 'Cake' },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } }],
  },
});

test('rules are left out wherever they stand, but members of that name are not', () => {
  const given = definition({
    ...rules,
    properties: { a: { ...rules, items: { ...rules, allOf: [rules] } }, [member]: { type: 'string' } },
    additionalProperties: rules,
  });
  dropExpressions(given, { vocabulary, gates: new Set() });
  expect(given).toEqual(
    definition({
      properties: { a: { items: { allOf: [{}] } }, [member]: { type: 'string' } },
      additionalProperties: {},
    }),
  );
});

test('enabled rules stay', () => {
  const given = definition(rules);
  dropExpressions(given, { vocabulary, gates: new Set([EXPRESSIONS_GATE]) });
  expect(given).toEqual(definition(rules));
});
