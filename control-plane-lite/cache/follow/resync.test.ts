import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { StoredItem, StoreEvent } from '../../store/contract.ts';
import { type Difference, eventsOf } from './resync.ts';

const VALUE = Buffer.from('x');
const item = (key: string, revision: number): StoredItem => ({ key, revision, value: VALUE });
const base: Difference = { from: 10, to: 20, changed: [], recreated: new Set(), gone: [] };
const summaryOf = (events: readonly StoreEvent[] | undefined): unknown =>
  events?.map(({ type, key, revision }) => `${type} ${key} ${revision}`);

describe('eventsOf', () => {
  test.each<[string, Partial<Difference>, unknown]>([
    ['reports no changes if there are none', {}, []],
    ['reports changes in their order', { changed: [item('b', 15), item('a', 12)] }, ['put a 12', 'put b 15']],
    [
      'gives deletions revisions that are free',
      { changed: [item('a', 11), item('b', 13)], gone: ['c', 'd'] },
      ['put a 11', 'delete c 12', 'put b 13', 'delete d 14'],
    ],
    [
      'deletes what was made anew before it is made',
      { changed: [item('a', 12)], recreated: new Set(['a']), gone: ['b'] },
      ['delete a 11', 'put a 12', 'delete b 13'],
    ],
    ['explains no older state', { to: 9 }, undefined],
    ['explains no change from before', { changed: [item('a', 8)] }, undefined],
    ['explains no change from later', { changed: [item('a', 21)] }, undefined],
    ['explains no more deletions than revisions', { to: 12, gone: ['a', 'b', 'c'] }, undefined],
    [
      'explains nothing that was made anew without having been deleted',
      { changed: [item('a', 11)], recreated: new Set(['a']) },
      undefined,
    ],
  ])('%s', (_what, change, expected) => {
    expect(summaryOf(eventsOf({ ...base, ...change }))).toEqual(expected);
  });

  test('explains whatever happened, in rising revisions that lead to the same state', () => {
    const step = fc.record({ key: fc.constantFrom('a', 'b', 'c', 'd'), remove: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step), fc.nat(30), (steps, fromStep) => {
        let revision = 0;
        const state = new Map<string, { readonly revision: number; readonly life: number }>();
        let before = new Map(state);
        let from = 0;
        for (const [index, { key, remove }] of steps.entries()) {
          if (index === fromStep) [before, from] = [new Map(state), revision];
          if (remove && !state.has(key)) continue;
          revision += 1;
          if (remove) state.delete(key);
          else state.set(key, { revision, life: state.get(key)?.life ?? revision });
        }
        const changed = [...state].filter(([key, now]) => before.get(key)?.revision !== now.revision);
        const recreated = changed.filter(([key, now]) => (before.get(key)?.life ?? now.life) !== now.life);
        const events = eventsOf({
          from,
          to: revision,
          changed: changed.map(([key, now]) => item(key, now.revision)),
          recreated: new Set(recreated.map(([key]) => key)),
          gone: [...before.keys()].filter((key) => !state.has(key)),
        });
        const replayed = new Map([...before].map(([key, was]) => [key, was.revision]));
        let last = from;
        for (const event of events ?? []) {
          expect(event.revision).toBeGreaterThan(last);
          last = event.revision;
          const was = replayed.delete(event.key);
          expect(was || event.type === 'put').toBe(true);
          if (event.type === 'put') replayed.set(event.key, event.revision);
        }
        expect(last).toBeLessThanOrEqual(Math.max(revision, from));
        expect(replayed).toEqual(new Map([...state].map(([key, now]) => [key, now.revision])));
      }),
    );
  });
});
