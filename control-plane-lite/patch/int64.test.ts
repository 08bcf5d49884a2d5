/** 64-bit numbers in every path of every kind: a change to the adjacent number is a change, and the same
 *  number is none, for patches of all types, for apply, and for all comparisons. */
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, test } from 'vitest';
import { parseJsonText } from '#api/codec/json-text.ts';
import { MAX_INT64, MIN_INT64 } from '#api/kit/int64.ts';
import { isObject } from '#api/kit/object.ts';
import { finish } from '#api/kit/steps.ts';
import { StatusError } from '#api/meta/status-error.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { applyPatchObject } from '../apply/apply-patch.ts';
import { createBuiltinSchema } from '../resources/builtin-schema.ts';
import { INT64_PLACES, type Int64Place } from './int64-paths.fixture.ts';
import { applyJsonPatch as jsonPatchSteps } from './json-patch.ts';
import { type JsonObject, sameJson } from './json-value.ts';
import { applyMergePatch } from './merge-patch.ts';
import { applyStrategicMergePatch } from './strategic-merge.ts';

const applyJsonPatch = (document: unknown, patch: unknown): unknown =>
  finish(jsonPatchSteps(document, patch));

/** Numbers that JavaScript's number type cannot distinguish from the adjacent one, and the ends of its safe
 *  range. */
const PAIRS: readonly (readonly [bigint, bigint])[] = [
  [2n ** 53n - 1n, 2n ** 53n],
  [2n ** 53n, 2n ** 53n + 1n],
  [-(2n ** 53n), -(2n ** 53n) - 1n],
  [MAX_INT64 - 1n, MAX_INT64],
  [MIN_INT64 + 1n, MIN_INT64],
];

function read(text: string): JsonObject {
  const value = parseJsonText(text);
  if (!isObject(value)) throw new Error('no object');
  return value;
}

const pointerOf = ({ path }: Int64Place): string =>
  `/${path.replaceAll('.', '/').replaceAll('[]', '0').replaceAll('{}', 'x')}`;

const numberAt = (object: unknown, pointer: string): string => {
  let value: unknown = object;
  for (const step of pointer.slice(1).split('/')) value = Reflect.get(Object(value), step);
  return String(value);
};

const refusal = (work: () => unknown): string => {
  try {
    work();
  } catch (error) {
    if (error instanceof StatusError) return error.reason;
    throw error;
  }
  return 'none';
};

const schemas = new Map<string, ReturnType<typeof createBuiltinSchema>>();
function schemaOf(typeRef: string): ReturnType<typeof createBuiltinSchema> {
  const schema =
    schemas.get(typeRef) ?? createBuiltinSchema(typeRef, { vocabulary: VOCABULARIES.plat, gates: new Set() });
  schemas.set(typeRef, schema);
  return schema;
}

describe.each(INT64_PLACES.map((place) => [`${place.typeRef} ${place.path}`, place] as const))(
  '%s',
  (_, place) => {
    const { model, textOf, typeRef, path } = place;
    const pointer = pointerOf(place);

    test('is not the next number', () => {
      for (const [before, after] of PAIRS) {
        const [old, next] = [read(textOf(before)), read(textOf(after))];
        expect(sameJson(old, next)).toBe(false);
        expect(isDeepStrictEqual(old, next)).toBe(false);
        expect(sameJson(old, read(textOf(before)))).toBe(true);

        expect(JSON.stringify(applyMergePatch(old, next))).toBe(textOf(after));
        expect(sameJson(applyStrategicMergePatch(old, next, model), next)).toBe(true);
        const value = read(`{"value":${after}}`)['value'];
        const replaced = applyJsonPatch(old, [{ op: 'replace', path: pointer, value }]);
        expect(JSON.stringify(replaced)).toBe(textOf(after));
        expect(refusal(() => applyJsonPatch(next, [{ op: 'test', path: pointer, value }]))).toBe('none');
        expect(refusal(() => applyJsonPatch(old, [{ op: 'test', path: pointer, value }]))).toBe('Invalid');

        const { object, errors } = schemaOf(typeRef).decode(next);
        expect(errors).toEqual([]);
        expect(numberAt(object, pointer)).toBe(String(after));
      }
    });

    const isApplied = !path.startsWith('metadata.') && model.root.kind !== 'untyped';
    test.runIf(isApplied)('apply knows it from the next number', () => {
      for (const [before, after] of PAIRS) {
        const apply = (live: object | undefined, value: bigint, manager: string) =>
          finish(
            applyPatchObject({
              live: live as never,
              applied: read(textOf(value)),
              model,
              manager,
              force: false,
              nowMs: 0,
              apiVersion: String(read(textOf(value))['apiVersion']),
              subresource: path.startsWith('status.') ? 'status' : '',
            }),
          );
        const { object } = apply(undefined, before, 'a');
        expect(numberAt(object, pointer)).toBe(String(before));
        expect(apply(object, before, 'a').changed).toBe(false);
        expect(numberAt(apply(object, after, 'a').object, pointer)).toBe(String(after));
        expect(refusal(() => apply(object, before, 'b'))).toBe('none');
        expect(refusal(() => apply(object, after, 'b'))).toBe('Conflict');
      }
    });
  },
);

test('there are such places', () => expect(INT64_PLACES.length).toBeGreaterThan(200));
