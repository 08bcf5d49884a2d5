/** Ranges of current and past revisions. */
import { Buffer } from 'node:buffer';
import { expect } from 'vitest';
import type { Store } from '../contract.ts';
import { bytes, keysOf, mustDelete, mustPut, reasonOf, type StoreCase } from './tools.ts';

const UNORDERED = [
  '/b/z',
  '/b/é',
  '/b/Z',
  '/b/a',
  '/b/a-b',
  '/b/a/c',
  '/b/日本',
  '/b/😀',
  '/b/\uffee',
  '/c',
  '/b',
];
const IN_ORDER = UNORDERED.toSorted((a, b) => Buffer.compare(bytes(a), bytes(b)));

export const RANGE_CASES: readonly StoreCase[] = [
  {
    name: 'is in the order of the keys’ bytes',
    async run(store) {
      for (const key of UNORDERED) await mustPut(store, key, key);
      const { items, more, revision } = await store.range('/');
      expect(keysOf(items)).toEqual(IN_ORDER);
      expect(items.map(({ value }) => value.toString())).toEqual(IN_ORDER);
      expect(more).toBe(false);
      expect(revision).toBe(await store.currentRevision());
    },
  },

  {
    name: 'has the prefix’s keys only',
    async run(store) {
      for (const key of UNORDERED) await mustPut(store, key, key);
      expect(keysOf((await store.range('/b/')).items)).toEqual(
        IN_ORDER.filter((key) => key.startsWith('/b/')),
      );
      expect(keysOf((await store.range('/b/a')).items)).toEqual(['/b/a', '/b/a-b', '/b/a/c']);
      expect(keysOf((await store.range('/b/日')).items)).toEqual(['/b/日本']);
      expect((await store.range('/d')).items).toEqual([]);
    },
  },

  {
    name: 'pages of any size cover everything once',
    async run(store) {
      for (const key of UNORDERED) await mustPut(store, key, key);
      for (const limit of [1, 2, 3, 10, 11, 12]) {
        const pages = await readPages(store, limit);
        expect(pages.flat()).toEqual(IN_ORDER);
        expect(pages.slice(0, -1).every((page) => page.length === limit)).toBe(true);
        expect(pages).toHaveLength(Math.ceil(IN_ORDER.length / limit));
      }
    },
  },

  {
    name: 'goes on after a key that is gone, and after one outside of the prefix',
    async run(store) {
      for (const key of ['/b/1', '/b/3']) await mustPut(store, key, key);
      expect(keysOf((await store.range('/b/', { after: '/b/2' })).items)).toEqual(['/b/3']);
      expect(keysOf((await store.range('/b/', { after: '/a' })).items)).toEqual(['/b/1', '/b/3']);
      expect((await store.range('/b/', { after: '/c' })).items).toEqual([]);
    },
  },

  {
    name: 'shows the state as it was at a revision',
    async run(store) {
      const a1 = await mustPut(store, '/a', 'a1');
      const b1 = await mustPut(store, '/b', 'b1');
      const a2 = await mustPut(store, '/a', 'a2', a1);
      const gone = await mustDelete(store, '/b', b1);
      const b2 = await mustPut(store, '/b', 'b2');
      const at = async (revision: number): Promise<string> => {
        const result = await store.range('/', { revision });
        expect(result.revision).toBe(revision);
        return result.items.map(({ value }) => value.toString()).join();
      };
      expect([await at(a1), await at(b1), await at(a2), await at(gone), await at(b2)]).toEqual([
        'a1',
        'a1,b1',
        'a2,b1',
        'a2',
        'a2,b2',
      ]);
      expect((await store.range('/', { revision: a2 })).items[1]).toEqual({
        key: '/b',
        value: bytes('b1'),
        revision: b1,
      });
    },
  },

  {
    name: 'a limited page reports more keys only if there are some, also before deleted keys',
    async run(store) {
      const a = await mustPut(store, '/a', 'a');
      const b = await mustPut(store, '/b', 'b');
      expect(await store.range('/', { limit: 1 })).toMatchObject({ items: [{ key: '/a' }], more: true });
      await mustDelete(store, '/b', b);
      expect(await store.range('/', { limit: 1 })).toMatchObject({ items: [{ key: '/a' }], more: false });
      await mustDelete(store, '/a', a);
      expect(await store.range('/', { limit: 1 })).toMatchObject({ items: [], more: false });
    },
  },

  {
    name: 'pages between writes that came together cover that state once',
    async run(store) {
      const keys = Array.from({ length: 12 }, (_, i) => `/b/${String(i).padStart(2, '0')}`);
      const revisions = await Promise.all(keys.map((key) => mustPut(store, key, key)));
      for (const revision of revisions) {
        const expected = keys.filter((_, i) => (revisions[i] ?? 0) <= revision);
        for (const limit of [1, 5, expected.length, 12]) {
          const pages = await readPages(store, limit, revision);
          expect(pages.flat()).toEqual(expected);
          expect(pages).toHaveLength(Math.ceil(expected.length / limit));
        }
      }
    },
  },

  {
    name: 'rejects a future revision',
    async run(store) {
      const now = await store.currentRevision();
      expect(await reasonOf(store.range('/', { revision: now + 1 }))).toBe('future');
    },
  },

  {
    name: 'is one state, however much there is and whatever is written meanwhile',
    async run(store) {
      const COUNT = 1500;
      const keys = Array.from({ length: COUNT }, (_, i) => `/many/${String(i).padStart(5, '0')}`);
      await Promise.all(keys.map((key) => mustPut(store, key, key)));
      const ranges = Promise.all([store.range('/many/'), store.range('/many/', { limit: 1000 })]);
      const deletions = store
        .range('/many/')
        .then(({ items }) => Promise.all(items.map(({ key, revision }) => store.delete(key, revision))));
      const [all, part] = await ranges;
      await deletions;
      expect((await store.range('/many/')).items).toEqual([]);
      for (const result of [all, part]) {
        const again = await store.range('/many/', { revision: result.revision });
        expect(keysOf(again.items).slice(0, result.items.length)).toEqual(keysOf(result.items));
        expect(result.more).toBe(again.items.length > result.items.length);
      }
    },
  },
];

/** Keys of each page, down to the one that reports the end. */
async function readPages(
  store: Store,
  limit: number,
  revision?: number,
): Promise<readonly (readonly string[])[]> {
  const pages: (readonly string[])[] = [];
  const at = revision === undefined ? {} : { revision };
  for (let after: string | undefined; ; ) {
    const { items, more } = await store.range('/', {
      limit,
      ...at,
      ...(after === undefined ? {} : { after }),
    });
    pages.push(keysOf(items));
    if (!more) return pages;
    after = items.at(-1)?.key;
  }
}
