import { describe, expect, test } from 'vitest';
import { finish, finishInTurns, type Steps } from '#api/kit/steps.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { createCustomSchema } from './custom-schema.ts';
import { readSchemaSteps } from './json-schema.ts';
import { compilePlanSteps } from './schema-plan.ts';
import { createDefinitionCheck, definitionFaultSteps } from './structural-schema.ts';

const vocabulary = VOCABULARIES.plat;
const context = { vocabulary, gates: new Set<string>() };

/** A megabyte of schema: objects of ten members each, five deep, with all that makes work. */
function largeSchema(depth: number, name = 'm'): object {
  if (depth === 0) {
    return {
      type: 'string',
      description: 'word '.repeat(10),
      pattern: '^[a-z]{1,9}$',
      default: 'a',
      maxLength: 9,
    };
  }
  const members = Array.from({ length: 10 }, (_, index) => `${name}${index}`);
  return {
    type: 'object',
    properties: Object.fromEntries(members.map((each) => [each, largeSchema(depth - 1, each)])),
    anyOf: [{ required: members.slice(0, 1) }, { not: { required: members.slice(1, 2) } }],
  };
}

function countSteps<T>(steps: Steps<T>): { readonly count: number; readonly value: T } {
  for (let count = 0; ; count += 1) {
    const { done, value } = steps.next();
    if (done === true) return { count, value };
  }
}

/** Schemas in a schema, itself among them. */
const nodesOf = (depth: number): number => (depth === 0 ? 1 : 4 + 10 * nodesOf(depth - 1));

const definitionOf = (root: object) => ({
  spec: {
    group: 'shop.example',
    scope: 'Namespaced',
    names: { plural: 'cakes', kind: 'Cake' },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: root } }],
  },
});
const small = largeSchema(3);

describe('work on a schema of a megabyte', () => {
  test('is done in as many steps as there are schemas in it, whatever is done', () => {
    const root = largeSchema(4);
    expect(JSON.stringify(root).length).toBeGreaterThan(1_000_000);
    const nodes = nodesOf(4);
    const read = countSteps(readSchemaSteps(root, vocabulary.schemaExtensionPrefix));
    expect(read.count).toBe(nodes);
    expect(countSteps(compilePlanSteps(read.value)).count).toBe(nodes);
    const checked = countSteps(definitionFaultSteps(definitionOf(root), context));
    // Read, looked at for its rules, for its structure, and for its defaults: a step for each at least.
    expect(checked.count).toBeGreaterThan(4 * nodes);
    expect(checked.value).toEqual([]);
  });

  test('yields after every step that requests it', async () => {
    let calls = 0;
    let others = 0;
    const turns = (): Promise<void> | undefined => {
      calls += 1;
      return calls % 100 === 0 ? Promise.resolve().then(() => void (others += 1)) : undefined;
    };
    expect(await createDefinitionCheck(() => turns)(definitionOf(small), context)).toEqual([]);
    expect(others).toBe(Math.floor(calls / 100));
    expect(others).toBeGreaterThan(40);
  });

  test('is not done again for the first object once a schema was prepared', async () => {
    let reads = 0;
    const schema = createCustomSchema({
      apiVersion: 'shop.example/v1',
      kind: 'Cake',
      vocabulary,
      schema: () => {
        reads += 1;
        return small;
      },
    });
    let turns = 0;
    await schema.prepare(() => void (turns += 1));
    expect(turns).toBe(2 * nodesOf(3));
    const { object, errors } = schema.decode({ m0: { m00: { m000: 'b' } } });
    expect([errors, reads]).toEqual([[], 1]);
    expect(schema.validate(object)).toEqual([]);
  });
});

test('steps that throw, throw', async () => {
  function* broken(): Steps<void> {
    yield;
    throw new Error('broken');
  }
  expect(() => finish(broken())).toThrow('broken');
  await expect(finishInTurns(broken(), () => undefined)).rejects.toThrow('broken');
});
