import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../patch/json-value.ts';
import { type FieldSet, intersects } from './field-set.ts';
import { apply, applyAll, fieldsOf, specOf, T0, thing } from './model.fixture.ts';

const spec = fc.record(
  {
    replicas: fc.integer({ min: 0, max: 3 }),
    items: fc
      .uniqueArray(fc.constantFrom('a', 'b', 'c'))
      .chain((names) =>
        fc.tuple(
          ...names.map((name) =>
            fc.record(
              { name: fc.constant(name), image: fc.constantFrom('1', '2') },
              { requiredKeys: ['name'] },
            ),
          ),
        ),
      ),
    tags: fc.uniqueArray(fc.constantFrom('x', 'y', 'z')),
    nodes: fc.dictionary(fc.constantFrom('k', 'l', 'constructor'), fc.constantFrom('1', '2')),
    list: fc.array(fc.integer({ max: 2 })),
    source: fc.record({ a: fc.integer({ max: 2 }), empty: fc.constant({}) }, { requiredKeys: [] }),
  },
  { requiredKeys: [] },
);

/** The order of maps and merged lists doesn't matter. */
function unordered(value: unknown): unknown {
  if (Array.isArray(value))
    return value.map(unordered).sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).toSorted(([a], [b]) => a.localeCompare(b));
  return Object.fromEntries(members.map(([name, child]) => [name, unordered(child)]));
}

describe('properties', () => {
  test('applying the same twice is once', () => {
    fc.assert(
      fc.property(spec, spec, (first, second) => {
        const live = apply(applyAll(['a', first]), 'b', thing(second), { force: true }).object;
        const again = apply(live, 'b', thing(second), { nowMs: T0 + 1000 });
        expect(again.changed).toBe(false);
      }),
    );
  });

  test('the only applier gets exactly what it applies', () => {
    fc.assert(
      fc.property(spec, spec, (first, second) => {
        const { object } = apply(applyAll(['m', first]), 'm', thing(second));
        const fresh = applyAll(['m', second]);
        expect(fieldsOf(object, 'm')).toEqual(fieldsOf(fresh, 'm'));
        expect(unordered(withoutEmpty(specOf(object)))).toEqual(unordered(withoutEmpty(specOf(fresh))));
      }),
    );
  });

  test('disjoint managers come to the same in any order', () => {
    const mine = fc.record(
      { replicas: fc.integer({ max: 3 }), tags: fc.subarray(['x', 'y'], { minLength: 1 }) },
      { requiredKeys: [] },
    );
    const theirs = fc.record(
      {
        paused: fc.boolean(),
        tags: fc.subarray(['p', 'q'], { minLength: 1 }),
        nodes: fc.dictionary(fc.constantFrom('k'), fc.constantFrom('1')),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(mine, theirs, (a, b) => {
        const [left, right] = [applyAll(['a', a], ['b', b]), applyAll(['b', b], ['a', a])];
        expect(unordered(left)).toEqual(unordered(right));
      }),
    );
  });

  test('forced fields lose their previous owners', () => {
    fc.assert(
      fc.property(spec, spec, (first, second) => {
        const before = applyAll(['a', first]);
        const { object } = apply(before, 'b', thing(second), { force: true });
        const mine = (fieldsOf(object, 'a') ?? {}) as FieldSet;
        for (const [name, value] of Object.entries(second)) {
          const old = (first as JsonObject)[name];
          if (typeof value !== 'number' || old === value) continue;
          expect(intersects(mine, { 'f:spec': { [`f:${name}`]: {} } })).toBe(false);
        }
      }),
    );
  });
});

function withoutEmpty(value: unknown): unknown {
  if (Array.isArray(value) || typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, child]) => {
      const rest = withoutEmpty(child);
      const hollow = typeof rest === 'object' && rest !== null && Object.keys(rest).length === 0;
      return hollow ? [] : [[name, rest]];
    }),
  );
}
