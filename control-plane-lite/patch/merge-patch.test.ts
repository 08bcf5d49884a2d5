import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { copyJson } from '#api/codec/copy-json.ts';
import { setMember } from '#api/codec/set-member.ts';
import { isObject } from '#api/kit/object.ts';
import { type JsonObject, sameJson } from './json-value.ts';
import { applyMergePatch } from './merge-patch.ts';

/** Returns the merge patch from `before` to `after`, for values without null. */
function diff(before: JsonObject, after: JsonObject): JsonObject {
  const patch: JsonObject = {};
  for (const name of Object.keys(before)) if (!Object.hasOwn(after, name)) setMember(patch, name, null);
  for (const [name, value] of Object.entries(after)) {
    const old = Object.hasOwn(before, name) ? before[name] : undefined;
    if (isObject(old) && isObject(value)) setMember(patch, name, diff(old, value));
    else if (!sameJson(old, value)) setMember(patch, name, value);
  }
  return patch;
}

const nullFree = fc.letrec<{ value: unknown; object: JsonObject }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.integer(),
    fc.string(),
    fc.boolean(),
    fc.array(fc.integer()),
    tie('object'),
  ),
  object: fc
    .dictionary(fc.constantFrom('a', 'b', 'c', '__proto__', 'constructor'), tie('value'))
    .map((entries) => copyJson(entries) as JsonObject),
})).object;

describe('applyMergePatch', () => {
  // RFC 7386, appendix A, as far as documents and patches are objects.
  test.each<[JsonObject, JsonObject, JsonObject]>([
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
    [{ a: 1 }, {}, { a: 1 }],
  ])('%j with %j is %j', (document, patch, result) => {
    expect(applyMergePatch(document, patch)).toEqual(result);
  });

  test.each([[null], [[]], ['a'], [1]])('rejects %j', (patch) => {
    expect(() => applyMergePatch({}, patch)).toThrow(
      expect.objectContaining({ reason: 'BadRequest', code: 400 }),
    );
  });

  test('gives the target for the difference, and the same again when repeated', () => {
    fc.assert(
      fc.property(nullFree, nullFree, (before, after) => {
        const patch = diff(before, after);
        const once = applyMergePatch(before, patch);
        expect(once).toEqual(after);
        expect(applyMergePatch(once, patch)).toEqual(after);
      }),
    );
  });

  test('shares nothing with the patch', () => {
    const patch = { a: { list: [{ b: 1 }] } };
    const result = applyMergePatch({}, patch) as typeof patch;
    result.a.list.push({ b: 2 });
    expect(patch).toEqual({ a: { list: [{ b: 1 }] } });
  });

  test('leaves prototypes alone', () => {
    const patch: unknown = JSON.parse('{"__proto__":{"polluted":true}}');
    const result = applyMergePatch({}, patch);
    expect(Object.keys(result)).toEqual(['__proto__']);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });
});
