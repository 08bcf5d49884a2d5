/** The embedded store on real files. */
import { execFileSync } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { record } from '../conformance/tools.ts';
import { describeStore } from '../conformance.ts';
import { type Store, StoreError } from '../contract.ts';
import { createEmbeddedStore } from './store.ts';

let dir: string;
let opened: Store[] = [];

beforeEach(() => {
  dir = mkdtempSync('/tmp/na-store-');
});
afterEach(async () => {
  for (const store of opened) await store.close();
  opened = [];
  rmSync(dir, { recursive: true, force: true });
});

async function open(): Promise<Store> {
  const store = await createEmbeddedStore({ dir: join(dir, 'store') });
  opened.push(store);
  return store;
}

describe('an embedded store as any store', () => {
  describeStore({ open });
});

async function failure(work: Promise<unknown>): Promise<StoreError> {
  const thrown: unknown = await work.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (thrown instanceof StoreError) return thrown;
  throw new Error('expected a StoreError', { cause: thrown });
}

async function fill(store: Store, count: number, from = 0): Promise<void> {
  await Promise.all(
    Array.from({ length: count }, (_, i) =>
      store.put(`/fill/${from + i}`, Buffer.alloc(1000, 'f'), 'absent'),
    ),
  );
}

const database = (): string => join(dir, 'store', 'store.db');

describe('an embedded store', () => {
  test('delivers a write’s event to every watch before it acknowledges the write', async () => {
    const store = await open();
    const order: string[] = [];
    const sink = (name: string) => ({
      onEvents: () => void order.push(name),
      onProgress: () => undefined,
      onEnd: () => undefined,
    });
    store.watch('/', 1, sink('first'));
    store.watch('/a', 1, sink('second'));
    await store.put('/a', Buffer.from('1'), 'absent');
    order.push('response');
    expect(order).toEqual(['first', 'second', 'response']);
  });

  test('gives the writes of one commit consecutive revisions in the order they came', async () => {
    const store = await open();
    const results = await Promise.all(
      Array.from({ length: 100 }, (_, i) => store.put(`/${i % 90}`, Buffer.from('x'), 'absent')),
    );
    expect(results.map((result) => (result.ok ? result.revision : 'conflict'))).toEqual(
      Array.from({ length: 100 }, (_, i) => (i < 90 ? i + 2 : 'conflict')),
    );
  });

  test('goes on with its revisions, history and compaction after a restart', async () => {
    const first = await open();
    await fill(first, 10);
    await first.compact(5);
    await first.close();
    const second = await open();
    expect(await second.currentRevision()).toBe(11);
    expect((await failure(second.range('/', { revision: 4 }))).reason).toBe('compacted');
    expect((await second.range('/', { revision: 5 })).items).toHaveLength(4);
    expect(await record(second, '/', 5).upTo(11)).toHaveLength(6);
    expect(await second.put('/x', Buffer.from('x'), 'absent')).toEqual({ ok: true, revision: 12 });
    await second.compact(12);
    await second.delete('/x', 12);
    await second.compact(13);
    await second.close();
    expect(await (await open()).currentRevision()).toBe(13);
  });

  test('a compaction removes superfluous versions from the file', async () => {
    const store = await open();
    let revision: number | 'absent' = 'absent';
    for (let i = 0; i < 50; i += 1) {
      const result = await store.put('/a', Buffer.from(String(i)), revision);
      revision = result.ok ? result.revision : 0;
    }
    const put = await store.put('/b', Buffer.from('b'), 'absent');
    if (put.ok) await store.delete('/b', put.revision);
    await store.compact(await store.currentRevision());
    await store.close();
    const file = new DatabaseSync(database(), { readOnly: true });
    expect(file.prepare('SELECT key, rev FROM log').all()).toEqual([{ key: '/a', rev: 51 }]);
    file.close();
  });

  test('prevents others from reading its files', async () => {
    const store = await open();
    await fill(store, 1);
    const path = join(dir, 'store');
    expect(statSync(path).mode & 0o777).toBe(0o700);
    for (const name of readdirSync(path))
      expect([name, statSync(join(path, name)).mode & 0o777]).toEqual([name, 0o600]);
  });

  test('rejects values that are too large, and goes on', async () => {
    const store = await createEmbeddedStore({ dir: join(dir, 'store'), maxValueBytes: 100 });
    opened.push(store);
    expect((await failure(store.put('/a', Buffer.alloc(101), 'absent'))).reason).toBe('tooLarge');
    expect((await store.put('/a', Buffer.alloc(100), 'absent')).ok).toBe(true);
  });

  test('a sink that throws harms neither the writer nor other watches', async () => {
    const thrown: unknown[] = [];
    const store = await createEmbeddedStore({
      dir: join(dir, 'store'),
      onSinkError: (error) => thrown.push(error),
    });
    opened.push(store);
    store.watch('/', 1, {
      onEvents() {
        throw new Error('broken sink');
      },
      onProgress: () => undefined,
      onEnd: () => undefined,
    });
    const good = record(store, '/', 1);
    expect((await store.put('/a', Buffer.from('a'), 'absent')).ok).toBe(true);
    expect((await store.put('/b', Buffer.from('b'), 'absent')).ok).toBe(true);
    expect(await good.upTo(3)).toHaveLength(2);
    expect(thrown).toEqual([new Error('broken sink')]);
  });

  test('completes requests from before it was closed', async () => {
    const store = await open();
    const put = store.put('/a', Buffer.from('a'), 'absent');
    await store.close();
    expect(await put).toEqual({ ok: true, revision: 2 });
  });
});

describe('opening an embedded store', () => {
  test('rejects a directory that is in use', async () => {
    await open();
    const error = await failure(open());
    expect(error.reason).toBe('unavailable');
    expect(error.message).toContain('in use by another process');
  });

  test('rejects a directory that another process uses', async () => {
    const store = await open();
    await store.close();
    const program = `const { DatabaseSync } = require('node:sqlite');
      const lock = new DatabaseSync(process.argv[1]);
      lock.exec('BEGIN EXCLUSIVE');
      process.stdout.write('held');
      process.stdin.resume();`;
    const { spawn } = await import('node:child_process');
    const child = spawn(process.execPath, ['-e', program, join(dir, 'store', 'store.lock')]);
    try {
      await new Promise((resolve) => child.stdout.once('data', resolve));
      expect((await failure(open())).message).toContain('in use by another process');
    } finally {
      child.kill('SIGKILL');
    }
    await new Promise((resolve) => child.once('exit', resolve));
    expect(await (await open()).currentRevision()).toBe(1);
  });

  test('rejects a damaged file, with its name and the fix', async () => {
    const store = await open();
    await fill(store, 500);
    await store.close();
    const file = openSync(database(), 'r+');
    writeSync(file, Buffer.alloc(8192, 0x5a), 0, 8192, 8192 * 5);
    closeSync(file);
    const error = await failure(open());
    expect(error.reason).toBe('corrupt');
    expect(error.message).toContain(database());
    expect(error.message).toContain('restore');
  });

  test.each([
    [
      'no database',
      (path: string) => writeFileSync(path, 'not a database at all, but long enough to be one. '.repeat(100)),
    ],
    ['an empty file', (path: string) => writeFileSync(path, '')],
    [
      'another program’s database',
      (path: string) => {
        const other = new DatabaseSync(path);
        other.exec('CREATE TABLE t (x)');
        other.close();
      },
    ],
  ])('rejects %s', async (_, make) => {
    const store = await open();
    await store.close();
    rmSync(database());
    make(database());
    const before = statSync(database()).size;
    const error = await failure(open());
    expect(error.reason).toBe('corrupt');
    expect(error.message).toContain(database());
    expect(statSync(database()).size).toBe(before);
  });

  test('rejects a file of a newer version', async () => {
    const store = await open();
    await store.close();
    const newer = new DatabaseSync(database());
    newer.exec('PRAGMA user_version = 99');
    newer.close();
    expect((await failure(open())).message).toContain('schema version 99');
  });

  test('rejects to make a new store where only the log of one is left', async () => {
    const store = await open();
    await store.close();
    rmSync(database());
    writeFileSync(`${database()}-wal`, 'log');
    expect((await failure(open())).reason).toBe('corrupt');
    expect(existsSync(database())).toBe(false);
  });

  test('starts over where a first start was interrupted', async () => {
    execFileSync('mkdir', ['-p', join(dir, 'store')]);
    writeFileSync(`${database()}.making`, 'half made');
    expect(await (await open()).currentRevision()).toBe(1);
  });
});
