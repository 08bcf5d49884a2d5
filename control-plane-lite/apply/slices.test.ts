/** Applies and updates of large objects, in steps: the results are those of the plain loops. */
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { finishInTurns, type Steps } from '#api/kit/steps.ts';
import type { ApiObject } from '../resources/contract.ts';
import { type ApplyInput, applyPatchObject } from './apply-patch.ts';
import { apply, MODEL, statusOf, T0, thing, update } from './model.fixture.ts';
import { trackUpdate } from './track-update.ts';

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

  test.each([[false], [true]])(
    'stay as they are if the client leaves between two steps of an apply; forced: %s',
    async (forced) => {
      const live = apply(undefined, 'a', thing({ nodes: wide(0, 5000, '1') })).object;
      const before = text(live);
      const applied = thing({ nodes: wide(100, 5000, '2') });
      const input: ApplyInput = { ...COMMON, live, applied, manager: 'b', force: forced };
      const turns = await leaveAtEach(() => applyPatchObject(input));
      expect(turns).toBeGreaterThan(10);
      expect(text(live) === before).toBe(true);
    },
  );

  test('stay as they are if the client leaves between two steps of an update', async () => {
    const live = apply(undefined, 'a', thing({ nodes: wide(0, 5000, '1') })).object;
    const before = text(live);
    const next = (): ApiObject => ({ ...live, metadata: { ...live.metadata }, spec: { nodes: {} } });
    const turns = await leaveAtEach(() => trackUpdate({ ...COMMON, live, next: next(), manager: 'b' }));
    expect(turns).toBeGreaterThan(4);
    expect(text(live) === before).toBe(true);
  });
});

const COMMON = { model: MODEL, nowMs: T0, apiVersion: 'v1', subresource: '', inSlices: true } as const;

/** Runs the work once for each of its turns, which is the last; expects the client's error each time, and nothing after
 *  it. @returns the number of turns */
async function leaveAtEach(start: () => Steps<unknown>): Promise<number> {
  for (let last = 0; ; last += 1) {
    let turn = 0;
    const left = new Error('the client has gone');
    const end = await finishInTurns(start(), () => {
      turn += 1;
      return turn > last ? Promise.reject(left) : undefined;
    }).then(
      () => 'done',
      (thrown: unknown) => (thrown === left ? 'left' : 'failed'),
    );
    expect(turn).toBeLessThanOrEqual(last + 1);
    if (turn <= last) return last;
    expect(end).toBe('left');
  }
}
