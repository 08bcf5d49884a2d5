/** Hostile input: always a result or a StatusError, and no prototype is modified. */

import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { copyJson } from '#api/codec/copy-json.ts';
import { isObject } from '#api/kit/object.ts';
import { finish } from '#api/kit/steps.ts';
import { StatusError } from '#api/meta/status-error.ts';
import { typeModelOf } from '#api/schema/type-model-builtin.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { applyJsonPatch as stepsOfPatch } from '../patch/json-patch.ts';
import { type JsonObject } from '../patch/json-value.ts';
import { applyMergePatch } from '../patch/merge-patch.ts';
import { applyStrategicMergePatch } from '../patch/strategic-merge.ts';
import { apply, applyAll, MODEL, thing, update } from './model.fixture.ts';

const applyJsonPatch = (document: unknown, patch: unknown): unknown => finish(stepsOfPatch(document, patch));

const NAMES = [
  'spec',
  'metadata',
  'items',
  'name',
  'tags',
  'nodes',
  'labels',
  'containers',
  'ports',
  'finalizers',
  'managedFields',
  'manager',
  'operation',
  'fieldsV1',
  '__proto__',
  'constructor',
  '$patch',
  '$retainKeys',
  '$setElementOrder/finalizers',
  '$deleteFromPrimitiveList/finalizers',
  'f:spec',
  'k:{"name":"a"}',
  '.',
];

const anything = fc.letrec<{ value: unknown; object: JsonObject }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 6, withCrossShrink: true },
    fc.constantFrom(null, 'a', 'delete', 'replace', 'merge', 'Apply', 'Update', 'FieldsV1', 0, 1.5, true),
    fc.array(tie('value'), { maxLength: 4 }),
    tie('object'),
  ),
  object: fc
    .dictionary(fc.constantFrom(...NAMES), tie('value'), { maxKeys: 5 })
    .map((entries) => copyJson(entries))
    .filter(isObject),
}));

/** Reports whether the call returns or fails with a proper error. */
function endsWell(work: () => unknown): boolean {
  try {
    work();
    return true;
  } catch (error) {
    if (error instanceof StatusError) return error.code < 500;
    throw error;
  } finally {
    expect(Object.keys(Object.prototype)).toEqual([]);
  }
}

const pod = typeModelOf('core/v1.Pod', VOCABULARIES.plat);
const live = applyAll(['a', { items: [{ name: 'a', image: '1' }], tags: ['t'], nodes: { x: '1' } }]);

describe('hostile input', () => {
  test('to patches', () => {
    fc.assert(
      fc.property(anything.object, anything.value, (document, patch) => {
        expect(endsWell(() => applyMergePatch(document, patch))).toBe(true);
        expect(endsWell(() => applyStrategicMergePatch(document, patch, pod))).toBe(true);
        expect(endsWell(() => applyJsonPatch(document, patch))).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  test('to apply', () => {
    fc.assert(
      fc.property(anything.object, fc.boolean(), (members, force) => {
        const metadata = isObject(members['metadata'])
          ? { ...members['metadata'], name: 'x' }
          : { name: 'x' };
        const applied = { ...thing({}), ...members, metadata };
        expect(endsWell(() => apply(live, 'm', applied, { force }))).toBe(true);
        expect(
          endsWell(() => apply(live, 'm', applied, { force, model: { root: { kind: 'untyped' } } })),
        ).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  test('to tracking, which never fails', () => {
    fc.assert(
      fc.property(anything.object, anything.value, (members, entries) => {
        const metadata = { ...live.metadata, managedFields: entries };
        const next = { spec: members['spec'], metadata };
        for (const model of [MODEL, { root: { kind: 'untyped' } } as const]) {
          expect(update(live, 'u', next, { model })).toHaveProperty('metadata');
          expect(update(undefined, 'u', next, { model })).toHaveProperty('metadata');
        }
      }),
      { numRuns: 500 },
    );
  });
});
