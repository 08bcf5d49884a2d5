/** Effects of compaction. */
import { expect } from 'vitest';
import type { Store } from '../contract.ts';
import { bytes, keysOf, mustDelete, mustPut, reasonOf, record, type StoreCase } from './tools.ts';

const byKey = ([a]: readonly [string, number], [b]: readonly [string, number]): number => (a < b ? -1 : 1);

export const COMPACTION_CASES: readonly StoreCase[] = [
  {
    name: 'removes old states and retains the newest values',
    async run(store) {
      const a1 = await mustPut(store, '/a', 'a1');
      const b = await mustPut(store, '/b', 'b');
      const a2 = await mustPut(store, '/a', 'a2', a1);
      const gone = await mustDelete(store, '/b', b);
      await store.compact(gone);
      expect(await reasonOf(store.range('/', { revision: a2 }))).toBe('compacted');
      expect(await store.range('/', { revision: gone })).toMatchObject({
        items: [{ key: '/a', value: bytes('a2'), revision: a2 }],
      });
      expect(await store.get('/b')).toBeUndefined();
      expect(await store.currentRevision()).toBe(gone);
      expect(await mustPut(store, '/b', 'b2')).toBe(gone + store.revisionStep);
      expect(await mustPut(store, '/a', 'a3', a2)).toBe(gone + 2 * store.revisionStep);
    },
  },

  {
    name: 'ends watches of compacted revisions and starts others',
    async run(store) {
      const a = await mustPut(store, '/a', '1');
      const b = await mustPut(store, '/b', '2');
      const c = await mustPut(store, '/c', '3');
      await store.compact(b);
      const early = record(store, '/', a);
      expect((await early.untilEnd()).reason).toBe('compacted');
      expect(early.events).toEqual([]);
      expect(keysOf(await record(store, '/', b).upTo(c))).toEqual(['/c']);
    },
  },

  {
    name: 'leaves a watch that is up to date alone',
    async run(store) {
      const recorder = record(store, '/', await store.currentRevision());
      const a = await mustPut(store, '/a', '1');
      await recorder.upTo(a);
      await store.compact(a);
      const b = await mustPut(store, '/b', '2');
      expect(keysOf(await recorder.upTo(b))).toEqual(['/a', '/b']);
      expect(recorder.ended()).toBeUndefined();
    },
  },

  {
    name: 'may be done twice, by several servers, but not ahead of time',
    async run(store) {
      await mustPut(store, '/a', '1');
      const b = await mustPut(store, '/b', '2');
      await Promise.all([store.compact(b), store.compact(b)]);
      await store.compact(b - store.revisionStep);
      expect(await reasonOf(store.compact(b + 100 * store.revisionStep))).toBe('future');
      expect(keysOf((await store.range('/')).items)).toEqual(['/a', '/b']);
    },
  },

  {
    name: 'retains the states between writes that came together',
    async run(store) {
      const keys = Array.from({ length: 40 }, (_, i) => `/t/${String(i).padStart(2, '0')}`);
      const first = await putTogether(store, keys, new Map());
      const second = await putTogether(store, keys, first);
      const states = statesAfter(first, second);
      const revisions = [...states.keys()];
      for (const from of [0, 7, 20]) {
        await store.compact(revisions[from] ?? 0);
        const check = async (revision: number): Promise<void> => {
          const { items } = await store.range('/t/', { revision });
          expect(new Map(items.map((item) => [item.key, item.revision]))).toEqual(states.get(revision));
          const after = await record(store, '/t/', revision).upTo(revisions.at(-1) ?? 0);
          expect(after.map((event) => event.revision)).toEqual(revisions.filter((other) => other > revision));
        };
        await Promise.all(revisions.slice(from).map(check));
      }
    },
  },

  {
    name: 'retains every later state whole',
    async run(store) {
      const values = new Map<number, string>();
      const current = new Map<string, number>();
      for (let i = 0; i < 60; i += 1) {
        const key = `/k/${(i * 7) % 11}`;
        const found = current.get(key);
        const isDeletion = found !== undefined && i % 4 === 0;
        const revision = isDeletion
          ? await mustDelete(store, key, found)
          : await mustPut(store, key, `v${i}`, found ?? 'absent');
        if (isDeletion) current.delete(key);
        else current.set(key, revision);
        values.set(revision, JSON.stringify([...current].toSorted(byKey)));
      }
      const revisions = [...values.keys()];
      await store.compact(revisions[30] ?? 0);
      for (const revision of revisions.slice(30)) {
        const { items } = await store.range('/k/', { revision });
        const shown = items.map(({ key, revision: at }): [string, number] => [key, at]);
        expect(JSON.stringify(shown)).toBe(values.get(revision));
      }
    },
  },
];

/** Overwrites all keys at once. @returns the revision of each */
async function putTogether(
  store: Store,
  keys: readonly string[],
  before: ReadonlyMap<string, number>,
): Promise<ReadonlyMap<string, number>> {
  const write = async (key: string): Promise<[string, number]> => [
    key,
    await mustPut(store, key, 'x', before.get(key) ?? 'absent'),
  ];
  return new Map(await Promise.all(keys.map(write)));
}

/** The revisions of all keys after each write of the second round. */
function statesAfter(
  first: ReadonlyMap<string, number>,
  second: ReadonlyMap<string, number>,
): ReadonlyMap<number, ReadonlyMap<string, number>> {
  const inOrder = [...second].toSorted(([, a], [, b]) => a - b);
  const state = new Map(first);
  return new Map(inOrder.map(([key, revision]) => [revision, new Map(state.set(key, revision))] as const));
}
