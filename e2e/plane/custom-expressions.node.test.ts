/** Rules in expressions of custom resources, with their feature gate on. */
import { expect, test } from 'vitest';
import { define } from './definitions.ts';
import { MERGE, usePlane } from './support.ts';

const plane = usePlane('plat', ['--feature-gates=CustomResourceValidationExpressions=true']);
const RULES = `${plane.words.schemaExtensionPrefix}validations`;
const integer = { type: 'integer' };

test('rules are evaluated when objects are created and updated', async () => {
  const cakes = await define(plane, {
    plural: 'ruled',
    versions: [
      {
        properties: {
          spec: {
            type: 'object',
            properties: { a: integer, b: integer },
            [RULES]: [
              { rule: 'self.a < self.b', message: 'a must be less than b' },
              { rule: 'self.b >= oldSelf.b' },
            ],
          },
        },
      },
    ],
  });
  const rejected = await plane.post(cakes.collection(), cakes.object('one', { spec: { a: 2, b: 1 } }));
  expect(rejected.status).toBe(422);
  expect(rejected.text).toContain('a must be less than b');
  const made = await plane.post(cakes.collection(), cakes.object('one', { spec: { a: 1, b: 2 } }));
  expect(made.status).toBe(201);
  const path = `${cakes.collection()}/one`;
  expect((await plane.patch(path, { spec: { b: 3 } }, MERGE)).status).toBe(200);
  const decreased = await plane.patch(path, { spec: { b: 2 } }, MERGE);
  expect([decreased.status, decreased.text]).toEqual([
    422,
    expect.stringContaining('failed rule: self.b >= oldSelf.b'),
  ]);
});
