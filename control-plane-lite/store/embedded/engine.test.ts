/** The engine on a real database, without a thread. */
import { Buffer } from 'node:buffer';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextStep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { StoreError } from '../contract.ts';
import type { ServableStore, ServedSink } from '../thread/serve.ts';
import { createEngine } from './engine.ts';
import { openDatabase, storeFiles, takeLock } from './files.ts';
import { createLogTable } from './log-table.ts';

interface Opened extends AsyncDisposable {
  readonly store: ServableStore;
}

function open(): Opened {
  const root = mkdtempSync('/tmp/na-engine-');
  const files = storeFiles(join(root, 'store'));
  const database = openDatabaseIn(files);
  const store = createEngine({
    table: createLogTable(database),
    maxValueBytes: 2 * 1024 * 1024,
    toError: (thrown) =>
      thrown instanceof StoreError ? thrown : new StoreError('unavailable', String(thrown)),
    close: () => database.close(),
  });
  return {
    store,
    async [Symbol.asyncDispose]() {
      await store.close();
      rmSync(root, { recursive: true, force: true });
    },
  };
}

function openDatabaseIn(files: ReturnType<typeof storeFiles>): ReturnType<typeof openDatabase> {
  takeLock(files).close();
  return openDatabase(files, false);
}

/** Puts `/0`, `/1` and so on, with values of a size of which a step of history has one. */
async function fill(store: ServableStore, from: number, count: number): Promise<void> {
  const large = Buffer.alloc(1024 * 1024);
  await Promise.all(Array.from({ length: count }, (_, i) => store.put(`/${from + i}`, large, 'absent')));
}

interface Seen extends ServedSink {
  readonly seen: unknown[];
  readonly live: Promise<unknown>;
}

function createSeen(): Seen {
  const seen: unknown[] = [];
  const { promise: live, resolve } = Promise.withResolvers<undefined>();
  return {
    seen,
    live,
    onEvents: (events) => void seen.push(...events.map(({ revision }) => revision)),
    onProgress: (revision) => void seen.push(`progress ${revision}`),
    onLive(revision) {
      seen.push(`live ${revision}`);
      resolve(undefined);
    },
    onEnd: ({ reason }) => void seen.push(reason),
  };
}

test('a watch at the newest revision is live at once', async () => {
  await using opened = open();
  const sink = createSeen();
  opened.store.watch('/', 1, sink).requestProgress();
  await sink.live;
  expect(sink.seen).toEqual(['live 1', 'progress 1']);
});

test('a watch in the past delivers history in steps, with the commits meanwhile, until it is live', async () => {
  await using opened = open();
  const { store } = opened;
  await fill(store, 0, 3);
  const sink = createSeen();
  store.watch('/', 1, sink).requestProgress();
  expect(sink.seen).toEqual([2]);
  await fill(store, 3, 2);
  await sink.live;
  await fill(store, 5, 1);
  expect(sink.seen).toEqual([2, 3, 4, 5, 6, 'live 6', 'progress 6']);
});

test('a held watch pauses its history', async () => {
  await using opened = open();
  const { store } = opened;
  await fill(store, 0, 4);
  const sink = createSeen();
  store.watch('/', 1, sink);
  store.holdWatches(true);
  for (let i = 0; i < 5; i += 1) await nextStep();
  expect(sink.seen).toEqual([2]);
  store.holdWatches(false);
  await sink.live;
  expect(sink.seen).toEqual([2, 3, 4, 5, 'live 5']);
});

test('a closed watch delivers nothing more', async () => {
  await using opened = open();
  await fill(opened.store, 0, 3);
  const sink = createSeen();
  opened.store.watch('/', 1, sink).close();
  for (let i = 0; i < 5; i += 1) await nextStep();
  expect(sink.seen).toEqual([2]);
});

test('a watch whose history is compacted ends, and only that one', async () => {
  await using opened = open();
  const { store } = opened;
  await fill(store, 0, 3);
  await store.compact(3);
  const [late, live] = [createSeen(), createSeen()];
  store.watch('/', 1, late);
  store.watch('/', 3, live);
  await live.live;
  expect([late.seen, live.seen]).toEqual([['compacted'], [4, 'live 4']]);
});

test('a range shows one revision, whatever is written between its steps', async () => {
  await using opened = open();
  const { store } = opened;
  await fill(store, 0, 3);
  const range = store.range('/');
  await nextStep();
  await fill(store, 3, 2);
  const { items, revision, more } = await range;
  expect([items.map(({ key }) => key), revision, more]).toEqual([['/0', '/1', '/2'], 4, false]);
});

test('closing performs the pending writes and rejects later requests', async () => {
  await using opened = open();
  const { store } = opened;
  const pending = store.put('/a', Buffer.from('x'), 'absent');
  await store.close();
  expect(await pending).toEqual({ ok: true, revision: 2 });
  await expect(store.get('/a')).rejects.toMatchObject({ reason: 'closed' });
  await expect(store.put('/b', Buffer.from('x'), 'absent')).rejects.toMatchObject({ reason: 'closed' });
});
