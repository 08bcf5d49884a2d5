/** Patches of large objects, in steps: the results are those of the plain loops, member by member. */
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MemberNames } from '#api/codec/member-names.ts';
import { finish } from '#api/kit/steps.ts';
import { typeModelOf } from '#api/schema/type-model-builtin.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { applyJsonPatch } from './json-patch.ts';
import { sameJson, sameJsonSteps } from './json-value.ts';
import { applyMergePatch, mergePatchSteps } from './merge-patch.ts';
import { applyStrategicMergePatch, strategicMergeSteps } from './strategic-merge.ts';

const model = typeModelOf('core/v1.ConfigMap', VOCABULARIES.plat);
const members = (from: number, count: number, value: string | null): Record<string, string | null> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${from + index}`, value]));
const data = fc
  .tuple(fc.nat(20), fc.nat(9000), fc.constantFrom('a', 'b', null))
  .map(([from, count, value]) => ({ data: members(from, count, value), metadata: { name: 'x' } }));
const runs = { numRuns: 30 };
const same = (left: unknown, right: unknown): boolean => JSON.stringify(left) === JSON.stringify(right);

describe('patches in steps', () => {
  test('merge as plain ones do, and know the names of the result', () => {
    fc.assert(
      fc.property(data, data, (document, patch) => {
        const names = new MemberNames();
        const merged = finish(mergePatchSteps(document, patch, names));
        const inner = merged['data'] as Record<string, unknown>;
        expect(same(merged, applyMergePatch(document, patch))).toBe(true);
        expect(same(names.of(inner), Object.keys(inner))).toBe(true);
      }),
      runs,
    );
  });

  test('merge strategically as plain ones do, and know the names of the result', () => {
    fc.assert(
      fc.property(data, data, (document, patch) => {
        const names = new MemberNames();
        const merged = finish(strategicMergeSteps(document, patch, model, names));
        const inner = merged['data'] as Record<string, unknown>;
        expect(same(merged, applyStrategicMergePatch(document, patch, model))).toBe(true);
        expect(same(names.of(inner), Object.keys(inner))).toBe(true);
      }),
      runs,
    );
  });

  test('perform operations as plain ones do, and forget the names of changed objects', () => {
    const document = { data: members(0, 5000, 'a') };
    const patch = [
      { op: 'replace', path: '/data', value: members(2, 6000, 'b') },
      { op: 'add', path: '/data/z', value: 'c' },
      { op: 'remove', path: '/data/k3' },
      { op: 'copy', from: '/data', path: '/other' },
      { op: 'test', path: '/other', value: { ...members(4, 5998, 'b'), k2: 'b', z: 'c' } },
    ];
    const names = new MemberNames();
    const patched = finish(applyJsonPatch(document, patch, names)) as typeof document;
    expect(same(patched, finish(applyJsonPatch(document, patch)))).toBe(true);
    expect(same(names.of(patched.data), Object.keys(patched.data))).toBe(true);
  });

  test('compare as plain ones do', () => {
    fc.assert(
      fc.property(data, data, (left, right) => {
        expect(finish(sameJsonSteps(left, right))).toBe(sameJson(left, right));
      }),
      runs,
    );
  });
});
