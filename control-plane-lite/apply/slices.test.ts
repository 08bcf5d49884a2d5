/** Applies and updates of large objects, in steps: the results are those of the plain loops. */
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ApiObject } from '../resources/contract.ts';
import { apply, statusOf, thing, update } from './model.fixture.ts';

const wide = (from: number, count: number, value: string) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${from + index}`, value]));
const spec = fc.record({
  nodes: fc
    .tuple(fc.nat(9), fc.constantFrom(0, 3, 5000), fc.constantFrom('1', '2'))
    .map(([...given]) => wide(...given)),
  selector: fc.constantFrom({}, { a: 'b' }),
  items: fc.constantFrom([], [{ name: 'a', image: '1' }], [{ name: 'a' }, { name: 'b', image: '2' }]),
  source: fc.constantFrom({}, { a: 1 }, { empty: {} }),
  replicas: fc.nat(2),
});
const runs = { numRuns: 40 };
const force = { force: true };
const inSlices = { inSlices: true };
const text = (value: unknown): string => JSON.stringify(value);

describe('large objects', () => {
  test('get what plain applies give them', () => {
    fc.assert(
      fc.property(spec, spec, spec, (first, second, third) => {
        let plain: ApiObject | undefined;
        let sliced: ApiObject | undefined;
        for (const [manager, one] of [
          ['a', first],
          ['b', second],
          ['a', third],
        ] as const) {
          plain = apply(plain, manager, thing(one), force).object;
          sliced = apply(sliced, manager, thing(one), { ...force, ...inSlices }).object;
          expect(text(sliced) === text(plain)).toBe(true);
        }
      }),
      runs,
    );
  });

  test('get what plain updates give them', () => {
    fc.assert(
      fc.property(spec, spec, (first, second) => {
        const plain = update(update(undefined, 'a', { spec: first }), 'b', { spec: second });
        const begun = update(undefined, 'a', { spec: first }, inSlices);
        const sliced = update(begun, 'b', { spec: second }, inSlices);
        expect(text(sliced) === text(plain)).toBe(true);
      }),
      runs,
    );
  });

  test('have the same conflicts', () => {
    const live = apply(undefined, 'a', thing({ nodes: wide(0, 5000, '1') })).object;
    const other = thing({ nodes: wide(100, 5000, '2') });
    const plain = statusOf(() => apply(live, 'b', other));
    expect(text(statusOf(() => apply(live, 'b', other, inSlices))) === text(plain)).toBe(true);
    expect(plain.causes).toHaveLength(4900);
  });
});
