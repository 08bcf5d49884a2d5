/** Single keys: put, get and delete. */
import { Buffer } from 'node:buffer';
import { expect } from 'vitest';
import { bytes, mustDelete, mustPut, record, type StoreCase } from './tools.ts';

export const WRITE_CASES: readonly StoreCase[] = [
  {
    name: 'starts at a revision from 1 on',
    async run(store) {
      expect(await store.currentRevision()).toBeGreaterThanOrEqual(1);
      expect(await store.get('/a')).toBeUndefined();
    },
  },

  {
    name: 'a put gives the next revision and can be read back',
    async run(store) {
      const before = await store.currentRevision();
      const revision = await mustPut(store, '/a', 'one');
      expect(revision).toBe(before + store.revisionStep);
      expect(await store.get('/a')).toEqual({ key: '/a', value: bytes('one'), revision });
      expect(await store.currentRevision()).toBe(revision);
    },
  },

  {
    name: 'a put that expects an absent key fails with the present item',
    async run(store) {
      const revision = await mustPut(store, '/a', 'one');
      const result = await store.put('/a', bytes('two'), 'absent');
      expect(result).toEqual({ ok: false, current: { key: '/a', value: bytes('one'), revision } });
      expect(await store.currentRevision()).toBe(revision);
    },
  },

  {
    name: 'a put that expects a revision fails if there is nothing, or another revision',
    async run(store) {
      expect(await store.put('/a', bytes('x'), 1)).toEqual({ ok: false, current: undefined });
      const first = await mustPut(store, '/a', 'one');
      const second = await mustPut(store, '/a', 'two', first);
      expect(await store.put('/a', bytes('three'), first)).toEqual({
        ok: false,
        current: { key: '/a', value: bytes('two'), revision: second },
      });
    },
  },

  {
    name: 'a deletion has a revision of its own and needs the right expectation',
    async run(store) {
      const put = await mustPut(store, '/a', 'one');
      expect((await store.delete('/a', put + store.revisionStep)).ok).toBe(false);
      const deleted = await mustDelete(store, '/a', put);
      expect(deleted).toBe(put + store.revisionStep);
      expect(await store.get('/a')).toBeUndefined();
      expect(await store.delete('/a', put)).toEqual({ ok: false, current: undefined });
      expect(await store.delete('/a', deleted)).toEqual({ ok: false, current: undefined });
      expect(await store.put('/a', bytes('x'), deleted)).toEqual({ ok: false, current: undefined });
      expect(await mustPut(store, '/a', 'again')).toBe(deleted + store.revisionStep);
    },
  },

  {
    name: 'of writers that expect the same, one wins',
    async run(store) {
      const first = await mustPut(store, '/a', '0');
      const results = await Promise.all(
        Array.from({ length: 20 }, (_, i) => store.put('/a', bytes(String(i)), first)),
      );
      expect(results.filter(({ ok }) => ok)).toHaveLength(1);
      const now = await store.get('/a');
      const found = results.flatMap((result) => (result.ok ? [] : [result.current]));
      expect(found).toEqual(Array.from({ length: 19 }, () => now));
    },
  },

  {
    name: 'concurrent writes each have a revision of their own, and are readable once acknowledged',
    async run(store) {
      const before = await store.currentRevision();
      const keys = Array.from({ length: 200 }, (_, i) => `/t/${i % 150}`);
      const results = await Promise.all(keys.map((key) => store.put(key, bytes(key), 'absent')));
      const revisions = results.flatMap((result) => (result.ok ? [result.revision] : []));
      expect(new Set(revisions).size).toBe(150);
      expect(Math.min(...revisions)).toBeGreaterThan(before);
      const found = new Map((await store.range('/t/')).items.map((item) => [item.key, item]));
      for (const [i, result] of results.entries()) {
        const item = found.get(keys[i] ?? '');
        if (result.ok) expect(item?.revision).toBe(result.revision);
        else expect(item).toEqual(result.current);
      }
    },
  },

  {
    name: 'stores empty values, binary values and large values',
    async run(store) {
      const large = Buffer.alloc(3 * 1024 * 1024, 'xyz');
      const binary = Buffer.from([0, 255, 1, 254, 0]);
      await mustPut(store, '/empty', Buffer.alloc(0));
      await mustPut(store, '/binary', binary);
      const recorder = record(store, '/large', 0);
      const revision = await mustPut(store, '/large', large);
      expect((await store.get('/empty'))?.value).toEqual(Buffer.alloc(0));
      expect((await store.get('/binary'))?.value).toEqual(binary);
      expect((await store.get('/large'))?.value.equals(large)).toBe(true);
      const [event] = await recorder.upTo(revision);
      expect(event?.type === 'put' && event.value.equals(large)).toBe(true);
    },
  },
];
