/** A disk that is full, and one that turns read-only. Needs root, to mount disks of its own. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { bytes, mustPut, reasonOf, record } from '../conformance/tools.ts';
import type { Store } from '../contract.ts';
import { createEmbeddedStore } from './store.ts';

let root: string;
let mountPoint: string;
let dir: string;
let opened: Store[] = [];

beforeEach(() => {
  root = mkdtempSync('/tmp/na-disk-');
  mountPoint = join(root, 'm');
  dir = join(mountPoint, 'store');
  mkdirSync(mountPoint);
});
afterEach(async () => {
  for (const store of opened) await store.close();
  opened = [];
  execFileSync('umount', [mountPoint]);
  rmSync(root, { recursive: true, force: true });
});

async function open(): Promise<Store> {
  const store = await createEmbeddedStore({ dir });
  opened.push(store);
  return store;
}

/** Puts values until that fails. Returns the keys that were put and the error. */
async function putUntilFailure(store: Store, prefix: string): Promise<{ keys: string[]; reason: string }> {
  const keys: string[] = [];
  for (let i = 0; i < 1000; i += 1) {
    const key = `${prefix}${String(i).padStart(4, '0')}`;
    const reason = await reasonOf(store.put(key, Buffer.alloc(50_000, 'v'), 'absent'));
    if (reason !== 'none') return { keys, reason };
    keys.push(key);
  }
  return { keys, reason: 'none' };
}

const keysIn = async (store: Store, prefix: string): Promise<readonly string[]> =>
  (await store.range(prefix)).items.map(({ key }) => key);

describe('a full disk', () => {
  test('fails writes, leaves reads and watches alone, and is over once there is space', async () => {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=12m', 'tmpfs', mountPoint]);
    const store = await open();
    const start = await store.currentRevision();
    const live = record(store, '/', start);
    const { bavail, bsize } = statfsSync(mountPoint);
    writeFileSync(join(mountPoint, 'filler'), Buffer.alloc(bavail * bsize - 4_000_000));

    const { keys, reason } = await putUntilFailure(store, '/full/');
    expect(reason).toBe('noSpace');
    expect(keys.length).toBeGreaterThan(3);
    const failed = await Promise.allSettled(
      Array.from({ length: 8 }, (_, i) => store.put(`/failed/${i}`, Buffer.alloc(200_000), 'absent')),
    );
    expect(failed.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 'rejected'));
    const full = await store.currentRevision();
    expect(full).toBe(start + keys.length);
    expect(await keysIn(store, '/')).toEqual(keys);
    expect((await store.get(keys[0] ?? ''))?.value).toHaveLength(50_000);
    expect((await record(store, '/', start).upTo(full)).map(({ key }) => key)).toEqual(keys);

    rmSync(join(mountPoint, 'filler'));
    const revision = await mustPut(store, '/after', 'space');
    expect(revision).toBe(full + 1);
    expect((await live.upTo(revision)).map(({ key }) => key)).toEqual([...keys, '/after']);
    await store.close();
    expect(await keysIn(await open(), '/')).toEqual(['/after', ...keys]);
  });

  test('a start reports it', async () => {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', mountPoint]);
    writeFileSync(join(mountPoint, 'filler'), Buffer.alloc(56 * 1024));
    expect(await reasonOf(open())).toBe('noSpace');
  });
});

describe('a disk that turns read-only', () => {
  test('fails writes and leaves reads and watches alone; nothing acknowledged is lost', async () => {
    const image = join(root, 'image');
    execFileSync('truncate', ['-s', '64M', image]);
    execFileSync('mkfs.ext4', ['-q', image]);
    execFileSync('mount', ['-o', 'loop', image, mountPoint]);
    const store = await open();
    const keys = await Promise.all(
      Array.from({ length: 50 }, async (_, i) => {
        const key = `/a/${String(i).padStart(2, '0')}`;
        await mustPut(store, key, key);
        return key;
      }),
    );
    // The kernel's reaction to a failing disk.
    execFileSync('mount', ['-o', 'remount,abort', mountPoint]);
    expect(await reasonOf(store.put('/b', bytes('b'), 'absent'))).toBe('readOnly');
    expect(await reasonOf(store.delete('/a/00', 2))).toBe('readOnly');
    expect(await reasonOf(store.compact(10))).toBe('readOnly');
    const revision = await store.currentRevision();
    expect(revision).toBe(1 + keys.length);
    expect(await keysIn(store, '/')).toEqual(keys);
    expect(await record(store, '/', 1).upTo(revision)).toHaveLength(keys.length);
    await store.close();

    execFileSync('umount', [mountPoint]);
    execFileSync('mount', ['-o', 'loop', image, mountPoint]);
    const again = await open();
    expect(await keysIn(again, '/')).toEqual(keys);
    expect(await mustPut(again, '/b', 'b')).toBe(revision + 1);
  });

  test('a start on a read-only disk reports it', async () => {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'ro', 'tmpfs', mountPoint]);
    expect(await reasonOf(open())).toBe('readOnly');
  });
});
