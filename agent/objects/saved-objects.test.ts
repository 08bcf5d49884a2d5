import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { silentLogger } from '#api/kit/logger.ts';
import { createTempDir } from '../../testing/temp.ts';
import { eventually } from '../../testing/wait.ts';
import type { ObjectKey } from './references.ts';
import { createSavedObjects } from './saved-objects.ts';

const CLAIM: ObjectKey = { kind: 'PersistentVolumeClaim', namespace: 'a', name: 'data' };
const CONFIG: ObjectKey = { kind: 'ConfigMap', namespace: 'a', name: 'conf' };
const volume = (name: string): ObjectKey => ({ kind: 'PersistentVolume', namespace: '', name });
const KEY = Buffer.alloc(32, 1);
const bound = { metadata: { name: 'data' }, spec: { volumeName: 'pv-1' } };

async function setUp() {
  const folder = await createTempDir('na-saved-');
  const dir = join(folder.path, 'objects');
  return {
    dir,
    open: (key = KEY) => createSavedObjects({ dir, loadKey: () => Promise.resolve(key), log: silentLogger }),
    files: async () => new Set(await readdir(dir).catch(() => [])),
    /** Resolves when these files exist, and no partial ones. */
    holds: (names: readonly string[]) =>
      eventually(async () => {
        const found = new Set(await readdir(dir).catch(() => []));
        return found.size === names.length && names.every((name) => found.has(name));
      }),
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

const all = ['ConfigMap_a_conf.json', 'PersistentVolumeClaim_a_data.json', 'PersistentVolume__pv-1.json'];

describe('createSavedObjects', () => {
  test('restores persisted objects after a restart', async () => {
    await using world = await setUp();
    const saved = world.open();
    saved.save(CLAIM, bound);
    saved.save(volume('pv-1'), { spec: { hostPath: { path: '/x' } } });
    saved.save(CONFIG, { data: {} });
    expect(await world.holds(all)).toBe(true);
    const again = world.open();
    expect(await again.load(CLAIM)).toEqual(bound);
    expect(await again.load(volume('pv-1'))).toEqual({ spec: { hostPath: { path: '/x' } } });
  });

  test('encrypts every file, and reads those of earlier versions', async () => {
    await using world = await setUp();
    const secret: ObjectKey = { kind: 'Secret', namespace: 'a', name: 's' };
    const value = { data: { key: 'c2VjcmV0' } };
    const saved = world.open();
    saved.save(secret, value);
    expect(await world.holds(['Secret_a_s.json'])).toBe(true);
    const path = join(world.dir, 'Secret_a_s.json');
    const sealed = await readFile(path);
    expect(sealed.includes('c2VjcmV0')).toBe(false);
    expect(await world.open().load(secret)).toEqual(value);
    // Neither with another key nor under another name.
    expect(await world.open(Buffer.alloc(32, 2)).load(secret)).toBeUndefined();
    await writeFile(join(world.dir, 'Secret_a_t.json'), sealed);
    expect(await world.open().load({ ...secret, name: 't' })).toBeUndefined();
    await writeFile(path, JSON.stringify(value));
    expect(await world.open().load(secret)).toEqual(value);
    await writeFile(path, sealed.subarray(0, 20));
    expect(await world.open().load(secret)).toBeUndefined();
  });

  test('retains the volumes of retained claims, and no others', async () => {
    await using world = await setUp();
    const saved = world.open();
    saved.save(CONFIG, { data: {} });
    saved.save(volume('pv-1'), { spec: {} });
    saved.save(volume('pv-2'), { spec: {} });
    saved.save(CLAIM, bound);
    saved.retainOnly([CLAIM, CONFIG]);
    expect(await world.holds(all)).toBe(true);

    // A restarted agent: it knows the claim from disk.
    const again = world.open();
    again.retainOnly([CLAIM]);
    expect(await world.holds(all.slice(1))).toBe(true);
    again.retainOnly([]);
    expect(await world.holds([])).toBe(true);
  });

  test('retains objects that the volumes of such claims reference', async () => {
    await using world = await setUp();
    const saved = world.open();
    const key: ObjectKey = { kind: 'Secret', namespace: 'vault', name: 'key' };
    const claimRef = { namespace: 'a', name: 'data' };
    const spec = { claimRef, cephfs: { monitors: [], secretRef: { namespace: 'vault', name: 'key' } } };
    saved.save(CLAIM, bound);
    saved.save(volume('pv-1'), { spec });
    saved.save(key, { data: {} });
    saved.save({ ...key, name: 'other' }, { data: {} });
    saved.retainOnly([CLAIM]);
    expect(await world.holds([...all.slice(1), 'Secret_vault_key.json'])).toBe(true);
    saved.retainOnly([CONFIG]);
    expect(await world.holds([])).toBe(true);
  });

  test.each(['../x', 'a_b', ''])('makes no file of the name %j', async (name) => {
    await using world = await setUp();
    const saved = world.open();
    saved.save(volume(name), { spec: {} });
    saved.save({ ...CLAIM, name }, { spec: {} });
    saved.save(CLAIM, { spec: { volumeName: name } });
    expect(await world.holds(['PersistentVolumeClaim_a_data.json'])).toBe(true);
    saved.retainOnly([CLAIM]);
    expect(await saved.load(volume(name))).toBeUndefined();
    expect(await world.files()).toEqual(new Set(['PersistentVolumeClaim_a_data.json']));
  });
});
