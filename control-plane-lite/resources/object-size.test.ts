import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { finish } from '#api/kit/steps.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { createBuiltinSchema } from './builtin-schema.ts';
import { decodeLarge } from './decode-large.ts';
import { checkSizeSteps, checkStoredSize, MAX_OBJECT_BYTES } from './object-size.ts';

const tooLarge: unknown = expect.objectContaining({ code: 413, reason: 'RequestEntityTooLarge' });
const objectOf = (text: string): object => ({ data: { a: text } });
const room = MAX_OBJECT_BYTES - JSON.stringify(objectOf('')).length;
const { plat } = VOCABULARIES;
const schemaOf = (typeRef: string): ReturnType<typeof createBuiltinSchema> =>
  createBuiltinSchema(typeRef, { vocabulary: plat, gates: new Set() });
const storedCheck = (schema: Parameters<typeof checkStoredSize>[0], object: object) => () =>
  checkStoredSize(schema, object, Buffer.from(JSON.stringify(object)));

describe('the size of an object whose JSON is stored', () => {
  test('may be what etcd takes, and no byte more', () => {
    expect(storedCheck({}, objectOf('x'.repeat(room)))).not.toThrow();
    expect(storedCheck({}, objectOf('x'.repeat(room + 1)))).toThrow(tooLarge);
    expect(() => finish(checkSizeSteps({}, objectOf('x'.repeat(room + 1))))).toThrow(tooLarge);
  });

  test('does not count escapes', () => {
    expect(() => finish(checkSizeSteps({}, objectOf('\n'.repeat(room))))).not.toThrow();
    expect(() => finish(checkSizeSteps({}, objectOf('\n'.repeat(room + 1))))).toThrow(tooLarge);
  });

  test('is measured in steps, which an escape may cross', () => {
    const stepsOf = (text: string): number => {
      const steps = checkSizeSteps({}, objectOf(text));
      let count = 0;
      while (steps.next().done !== true) count += 1;
      return count;
    };
    expect(stepsOf('\n'.repeat(room))).toBeGreaterThan(8);
    expect(stepsOf(`a${'\n'.repeat(room - 1)}`)).toBeGreaterThan(8);
    expect(() => stepsOf(`a${'\n'.repeat(room)}`)).toThrow(tooLarge);
    expect(stepsOf('x'.repeat(room))).toBe(0);
  });

  test('is that of definitions', () => {
    const definitions = schemaOf(`apiextensions.${plat.apiGroupDomain}/v1.CustomResourceDefinition`);
    expect(storedCheck(definitions, objectOf('x'.repeat(room + 1)))).toThrow(tooLarge);
  });

  test('counts what there will be besides', () => {
    const object = objectOf('x'.repeat(room));
    expect(() => finish(checkSizeSteps({}, object, { beside: 1 }))).toThrow(tooLarge);
  });
});

describe('the size of an object whose protobuf is stored', () => {
  const secrets = schemaOf('core/v1.Secret');
  const secretOf = (length: number): object => ({ data: { a: randomBytes(length).toString('base64') } });

  test('is that of the protobuf, where the JSON is longer', () => {
    const most = MAX_OBJECT_BYTES - 100;
    expect(storedCheck(secrets, secretOf(most))).not.toThrow();
    expect(() => finish(checkSizeSteps(secrets, secretOf(most)))).not.toThrow();
    expect(storedCheck(secrets, secretOf(MAX_OBJECT_BYTES))).toThrow(tooLarge);
    expect(() => finish(checkSizeSteps(secrets, secretOf(MAX_OBJECT_BYTES)))).toThrow(tooLarge);
  });

  test('is that of the protobuf of a value that is not decoded yet, with the members that upstream adds', () => {
    const pods = schemaOf('core/v1.Pod');
    const podOf = (count: number): object => ({
      spec: { containers: Array.from({ length: count }, () => ({})) },
    });
    expect(() => finish(checkSizeSteps(pods, podOf(100_000)))).toThrow(tooLarge);
    expect(() => finish(checkSizeSteps(pods, podOf(40_000)))).not.toThrow();
  });

  test('does not end decoding before it is reached', () => {
    const decoded = (length: number) => () => finish(decodeLarge(secrets, secretOf(length), {}));
    expect(decoded(MAX_OBJECT_BYTES - 100)).not.toThrow();
    expect(decoded(2 * MAX_OBJECT_BYTES)).toThrow(tooLarge);
  });
});
