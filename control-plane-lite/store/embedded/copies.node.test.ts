/** Backup and restore on real files, beside a store in use. */
import { spawn } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { record } from '../conformance/tools.ts';
import { type Store, StoreError } from '../contract.ts';
import { backupStore, restoreStore } from './copies.ts';
import { createEmbeddedStore } from './store.ts';

let root: string;
let dir: string;
let target: string;
let opened: Store[] = [];

beforeEach(() => {
  root = mkdtempSync('/tmp/na-copy-');
  dir = join(root, 'store');
  target = join(root, 'backup.db');
});
afterEach(async () => {
  for (const store of opened) await store.close();
  opened = [];
  rmSync(root, { recursive: true, force: true });
});

async function open(): Promise<Store> {
  const store = await createEmbeddedStore({ dir });
  opened.push(store);
  return store;
}

async function failure(work: Promise<unknown>): Promise<StoreError> {
  const thrown: unknown = await work.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (thrown instanceof StoreError) return thrown;
  throw new Error('expected a StoreError', { cause: thrown });
}

/** Puts `/n/…` one after the other until stopped; returns the revisions. */
function keepWriting(store: Store): () => Promise<readonly number[]> {
  const stopped = new AbortController();
  const revisions: number[] = [];
  const done = (async () => {
    for (let i = 0; !stopped.signal.aborted; i += 1) {
      const result = await store.put(`/n/${String(i).padStart(6, '0')}`, Buffer.alloc(500, 'n'), 'absent');
      if (result.ok) revisions.push(result.revision);
    }
  })();
  return async () => {
    stopped.abort();
    await done;
    return revisions;
  };
}

async function fill(store: Store, count: number): Promise<void> {
  await Promise.all(
    Array.from({ length: count }, (_, i) => store.put(`/fill/${i}`, Buffer.alloc(1000, 'f'), 'absent')),
  );
}

/** A backup by another process, as the command runs it. */
async function backupElsewhere(): Promise<number> {
  const program = `const { backupStore } = await import(process.argv[1]);
    process.stdout.write(String(await backupStore(process.argv[2], process.argv[3])));`;
  const module = join(import.meta.dirname, 'copies.ts');
  const child = spawn(process.execPath, ['--input-type=module', '-e', program, module, dir, target], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  const code = await new Promise((resolve) => child.once('close', resolve));
  expect(code).toBe(0);
  return Number(output);
}

describe('backupStore', () => {
  test('by another process shows one state of a store that is being written', async () => {
    const store = await open();
    await fill(store, 2000);
    const stop = keepWriting(store);
    const revision = await backupElsewhere();
    const revisions = await stop();
    expect(revisions.length).toBeGreaterThan(0);
    const expected = await store.range('/', { revision });
    await store.close();

    await restoreStore(target, join(root, 'other'));
    const copy = await createEmbeddedStore({ dir: join(root, 'other') });
    opened.push(copy);
    expect((await copy.range('/')).items).toEqual(expected.items);
    expect(readdirSync(root).sort()).toEqual(['backup.db', 'other', 'store']);
  });

  test('by the same process', async () => {
    const store = await open();
    await fill(store, 10);
    expect(await backupStore(dir, target)).toBe(11);
    await fill(store, 0);
    expect((await store.put('/after', Buffer.from('x'), 'absent')).ok).toBe(true);
  });

  test('of a store that no process has open', async () => {
    const store = await open();
    await fill(store, 10);
    await store.close();
    expect(await backupStore(dir, target)).toBe(11);
    expect(await (await open()).currentRevision()).toBe(11);
  });

  test('is for its owner only', async () => {
    await open();
    await backupStore(dir, target);
    expect(statSync(target).mode & 0o777).toBe(0o600);
  });

  test('replaces nothing and leaves nothing when it fails', async () => {
    await open();
    writeFileSync(target, 'precious');
    expect((await failure(backupStore(dir, target))).message).toContain('already exists');
    expect(readFileSync(target, 'utf8')).toBe('precious');
    expect((await failure(backupStore(dir, join(root, 'missing', 'b.db')))).reason).toBe('unavailable');
    expect((await failure(backupStore(join(root, 'nothing'), target))).message).toContain('no store');
    expect(readdirSync(root).sort()).toEqual(['backup.db', 'store']);
  });
});

describe('restoreStore', () => {
  test('restores the state of the backup, at a revision ahead of all others', async () => {
    const store = await open();
    await fill(store, 5);
    await backupStore(dir, target);
    const before = await store.range('/');
    await store.put('/later', Buffer.from('x'), 'absent');
    await store.close();

    const revision = await restoreStore(target, dir, { force: true });
    const again = await open();
    expect(revision).toBeGreaterThan(1_000_000_000);
    expect(await again.currentRevision()).toBe(revision);
    expect((await again.range('/')).items).toEqual(before.items);
    expect((await record(again, '/', 7).untilEnd()).reason).toBe('compacted');
    expect((await failure(again.range('/', { revision: 6 }))).reason).toBe('compacted');
    const [item] = before.items;
    expect(await again.delete(item?.key ?? '', item?.revision ?? 0)).toEqual({
      ok: true,
      revision: revision + 1,
    });
    await again.compact(revision + 1);
    expect((await again.range('/')).items).toHaveLength(4);
  });

  test('retains the store that it replaces', async () => {
    const store = await open();
    await backupStore(dir, target);
    await fill(store, 5);
    await store.close();
    await restoreStore(target, dir, { force: true });
    rmSync(join(dir, 'store.db'));
    await restoreStore(join(dir, 'store.db.replaced'), dir);
    expect((await (await open()).range('/')).items).toHaveLength(5);
  });

  test('does not touch a store without force, nor one in use', async () => {
    const store = await open();
    await backupStore(dir, target);
    await fill(store, 5);
    expect((await failure(restoreStore(target, dir, { force: true }))).message).toContain('in use');
    await store.close();
    expect((await failure(restoreStore(target, dir))).message).toContain('force');
    expect((await (await open()).range('/')).items).toHaveLength(5);
  });

  test.each([
    [
      'a damaged backup',
      (path: string) => {
        const file = openSync(path, 'r+');
        writeSync(file, Buffer.alloc(8192, 0x5a), 0, 8192, 8192 * 5);
        closeSync(file);
      },
    ],
    ['something else', (path: string) => writeFileSync(path, 'no database. '.repeat(1000))],
    ['a part of a backup', (path: string) => writeFileSync(path, readFileSync(path).subarray(0, 20_000))],
  ])('rejects %s and leaves the store alone', async (_, spoil) => {
    const store = await open();
    await fill(store, 500);
    await backupStore(dir, target);
    await store.close();
    spoil(target);
    const error = await failure(restoreStore(target, dir, { force: true }));
    expect(error.reason).toBe('corrupt');
    expect(error.message).toContain(target);
    expect(readdirSync(dir).sort()).toEqual(['store.db', 'store.lock']);
    expect((await (await open()).range('/')).items).toHaveLength(500);
  });

  test('replaces a damaged store, and can be repeated where it was interrupted', async () => {
    const store = await open();
    await fill(store, 5);
    await backupStore(dir, target);
    await store.close();
    writeFileSync(join(dir, 'store.db'), 'damaged beyond repair. '.repeat(1000));
    // As if it had been killed after it moved the old store away.
    rmSync(join(dir, 'store.db'));
    writeFileSync(join(dir, 'store.db.incoming'), '');
    expect((await failure(open())).message).toContain('restore');
    expect(existsSync(join(dir, 'store.db'))).toBe(false);
    await restoreStore(target, dir);
    expect((await (await open()).range('/')).items).toHaveLength(5);
  });
});

describe('the keys of a server', () => {
  const keysIn = (place: string): Readonly<Record<string, string>> =>
    Object.fromEntries(readdirSync(place).map((name) => [name, readFileSync(join(place, name), 'latin1')]));
  let keysDir: string;
  beforeEach(async () => {
    keysDir = join(root, 'pki');
    mkdirSync(keysDir, { mode: 0o700 });
    writeFileSync(join(keysDir, 'ca.key'), 'SECRET-OF-THE-AUTHORITY', { mode: 0o600 });
    writeFileSync(join(keysDir, 'ca.crt'), 'certificate');
    const store = await open();
    await fill(store, 10);
  });
  const elsewhere = (): { readonly dir: string; readonly keysDir: string } => ({
    dir: join(root, 'new', 'store'),
    keysDir: join(root, 'new', 'pki'),
  });

  test('are in a backup, which only its owner may read, and come back on an empty machine', async () => {
    await backupStore(dir, target, { keysDir });
    expect(statSync(target).mode & 0o777).toBe(0o600);
    const there = elsewhere();
    await restoreStore(target, there.dir, { keysDir: there.keysDir });
    expect(keysIn(there.keysDir)).toEqual(keysIn(keysDir));
    expect(statSync(there.keysDir).mode & 0o777).toBe(0o700);
    for (const name of readdirSync(there.keysDir)) {
      expect(statSync(join(there.keysDir, name)).mode & 0o777).toBe(0o600);
    }
    // The store itself contains no keys.
    expect(readFileSync(join(there.dir, 'store.db'), 'latin1')).not.toContain('SECRET-OF-THE-AUTHORITY');
    dir = there.dir;
    expect((await (await open()).range('/fill/', { limit: 100 })).items).toHaveLength(10);
  });

  test('are in no backup that was to have none, and are left alone where they were to be', async () => {
    await backupStore(dir, target);
    expect(readFileSync(target, 'latin1')).not.toContain('SECRET-OF-THE-AUTHORITY');
    const there = elsewhere();
    await restoreStore(target, there.dir, { keysDir: there.keysDir });
    expect(existsSync(there.keysDir)).toBe(false);
    const full = join(root, 'full.db');
    await backupStore(dir, full, { keysDir });
    await restoreStore(full, there.dir, { force: true });
    expect(existsSync(there.keysDir)).toBe(false);
  });

  test('replace others only by force, and retain the replaced ones', async () => {
    await backupStore(dir, target, { keysDir });
    const there = elsewhere();
    mkdirSync(there.keysDir, { recursive: true });
    writeFileSync(join(there.keysDir, 'ca.key'), 'other');
    const refused = await failure(restoreStore(target, there.dir, { keysDir: there.keysDir }));
    expect(refused.message).toContain('--force');
    expect(keysIn(there.keysDir)).toEqual({ 'ca.key': 'other' });
    await restoreStore(target, there.dir, { keysDir: there.keysDir, force: true });
    expect(keysIn(there.keysDir)).toEqual(keysIn(keysDir));
    expect(keysIn(`${there.keysDir}.replaced`)).toEqual({ 'ca.key': 'other' });
  });

  test('a store that is there is replaced with a flag that the message names', async () => {
    await backupStore(dir, target);
    for (const store of opened) await store.close();
    expect((await failure(restoreStore(target, dir))).message).toContain('--force');
  });
});
