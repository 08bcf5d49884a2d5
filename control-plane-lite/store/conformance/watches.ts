/** Watches and the conditions that end them. */

import { Buffer } from 'node:buffer';
import { array, assert, asyncProperty, constantFrom, record as fields, nat } from 'fast-check';
import { expect } from 'vitest';
import type { Store, StoreEvent } from '../contract.ts';
import {
  bytes,
  keysOf,
  mustDelete,
  mustPut,
  type Recorder,
  reasonOf,
  record,
  type StoreCase,
} from './tools.ts';

export const WATCH_CASES: readonly StoreCase[] = [
  {
    name: 'delivers later changes, and no earlier ones',
    async run(store) {
      const a = await mustPut(store, '/a', '1');
      const recorder = record(store, '/', a);
      const b = await mustPut(store, '/b', '2');
      const gone = await mustDelete(store, '/a', a);
      expect(await recorder.upTo(gone)).toEqual([
        { type: 'put', key: '/b', value: bytes('2'), revision: b },
        { type: 'delete', key: '/a', revision: gone },
      ]);
    },
  },

  {
    name: 'starts in the past',
    async run(store) {
      const start = await store.currentRevision();
      const a = await mustPut(store, '/a', '1');
      const b = await mustPut(store, '/b', '2');
      const a2 = await mustPut(store, '/a', '3', a);
      const gone = await mustDelete(store, '/b', b);
      expect((await record(store, '/', start).upTo(gone)).map(({ revision }) => revision)).toEqual([
        a,
        b,
        a2,
        gone,
      ]);
      expect((await record(store, '/', b).upTo(gone)).map(({ revision }) => revision)).toEqual([a2, gone]);
      expect((await record(store, '/b', start).upTo(gone)).map(({ type }) => type)).toEqual([
        'put',
        'delete',
      ]);
      expect(await record(store, '/', gone).upTo(gone)).toEqual([]);
    },
  },

  {
    name: 'may start in the future',
    async run(store) {
      const a = await mustPut(store, '/a', '1');
      const recorder = record(store, '/', a + store.revisionStep);
      await mustPut(store, '/b', '2');
      const c = await mustPut(store, '/c', '3');
      expect(keysOf(await recorder.upTo(c))).toEqual(['/c']);
    },
  },

  {
    name: 'takes a prefix to its last byte',
    async run(store) {
      const start = await store.currentRevision();
      const recorder = record(store, '/pods/a', start);
      for (const key of ['/pods/', '/pods/a', '/pods/a/b', '/pods/b', '/podsa', '/pods/日']) {
        await mustPut(store, key, 'x');
      }
      expect(keysOf(await recorder.upTo(start + 6 * store.revisionStep))).toEqual(['/pods/a', '/pods/a/b']);
    },
  },

  {
    name: 'reports progress without events',
    async run(store) {
      const recorder = record(store, '/quiet/', await store.currentRevision());
      const revision = await mustPut(store, '/loud/a', '1');
      expect(await recorder.upTo(revision)).toEqual([]);
    },
  },

  {
    name: 'gives nothing more once it is closed',
    async run(store) {
      const start = await store.currentRevision();
      const closed = record(store, '/', start);
      closed.close();
      const open = record(store, '/', start);
      await open.upTo(await mustPut(store, '/a', '1'));
      expect(closed.events).toEqual([]);
      expect(closed.ended()).toBeUndefined();
    },
  },

  {
    name: 'has neither gap nor duplicate, whenever it starts among concurrent writers',
    async run(store, seed) {
      const writers = array(array(nat(5), { minLength: 5, maxLength: 30 }), { minLength: 2, maxLength: 8 });
      const join = fields({ when: nat(60), back: nat(40), prefix: constantFrom('/r/', '/r/1') });
      const property = asyncProperty(
        writers,
        array(join, { minLength: 1, maxLength: 6 }),
        async (keys, joins) => {
          for (const { seen, expected } of await runWriters(store, keys, joins))
            expect(seen).toEqual(expected);
        },
      );
      await assert(property, { seed, numRuns: 15 });
    },
  },
  {
    name: 'ends watches and rejects later requests',
    async run(store) {
      const recorder = record(store, '/', await store.currentRevision());
      await store.close();
      expect((await recorder.untilEnd()).reason).toBe('closed');
      expect(await reasonOf(store.get('/a'))).toBe('closed');
      expect(await reasonOf(store.put('/a', bytes('1'), 'absent'))).toBe('closed');
      expect(await reasonOf(store.range('/'))).toBe('closed');
      expect(await reasonOf(store.currentRevision())).toBe('closed');
      await store.close();
    },
  },
];

interface Join {
  /** Number of writes before the watch starts. */
  readonly when: number;
  /** Number of revisions before the newest at which it starts. */
  readonly back: number;
  readonly prefix: string;
}

/** Runs concurrent writers on a small set of keys, and returns the events of each watch with the results of
 *  the writes. */
async function runWriters(store: Store, writers: readonly (readonly number[])[], joins: readonly Join[]) {
  const start = await store.currentRevision();
  const done: StoreEvent[] = [];
  const joined: { readonly from: number; readonly prefix: string; readonly recorder: Recorder }[] = [];

  function joinNow(): void {
    for (const { when, back, prefix } of joins) {
      if (when !== done.length) continue;
      const from = Math.max(start, (done.at(-1)?.revision ?? start) - back);
      joined.push({ from, prefix, recorder: record(store, prefix, from) });
    }
  }

  async function writeOne(writer: number, key: string, value: Buffer): Promise<void> {
    const current = await store.get(key);
    const isDeletion = current !== undefined && (current.revision + writer) % 3 === 0;
    const result = isDeletion
      ? await store.delete(key, current.revision)
      : await store.put(key, value, current?.revision ?? 'absent');
    if (!result.ok) return;
    const { revision } = result;
    done.push(isDeletion ? { type: 'delete', key, revision } : { type: 'put', key, value, revision });
    joinNow();
  }

  joinNow();
  await Promise.all(
    writers.map(async (keys, writer) => {
      for (const [i, key] of keys.entries()) await writeOne(writer, `/r/${key}`, bytes(`${writer}.${i}`));
    }),
  );
  const newest = await store.currentRevision();
  const inOrder = done.toSorted((a, b) => a.revision - b.revision);
  const results: { readonly seen: readonly StoreEvent[]; readonly expected: readonly StoreEvent[] }[] = [];
  for (const { from, prefix, recorder } of joined) {
    const seen = await recorder.upTo(newest);
    recorder.close();
    const expected = inOrder.filter(({ revision, key }) => revision > from && key.startsWith(prefix));
    results.push({ seen, expected });
  }
  return results;
}
