import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createTempDir } from '../../testing/temp.ts';
import { loadObjectKey, ObjectKeyError } from './object-key.ts';

const FILE = 'saved-objects.key';

test('generates a key once, readable by its owner only', async () => {
  await using folder = await createTempDir('na-key-');
  const places = { credentialsDir: undefined, keyDir: join(folder.path, 'pki') };
  const keys = await Promise.all([loadObjectKey(places), loadObjectKey(places)]);
  expect(keys[0]).toHaveLength(32);
  expect(await loadObjectKey(places)).toEqual(keys[0]);
  expect(await readdir(places.keyDir)).toEqual([FILE]);
  expect((await stat(join(places.keyDir, FILE))).mode & 0o777).toBe(0o600);
  expect(await readFile(join(places.keyDir, FILE))).toEqual(keys[0]);
});

test('prefers a credential, and generates nothing then', async () => {
  await using folder = await createTempDir('na-key-');
  const credentialsDir = join(folder.path, 'credentials');
  await mkdir(credentialsDir);
  await writeFile(join(credentialsDir, FILE), Buffer.alloc(32, 5));
  const keyDir = join(folder.path, 'pki');
  expect(await loadObjectKey({ credentialsDir, keyDir })).toEqual(Buffer.alloc(32, 5));
  expect(await readdir(folder.path)).toEqual(['credentials']);
});

test('refuses a truncated key', async () => {
  await using folder = await createTempDir('na-key-');
  await writeFile(join(folder.path, FILE), 'short');
  const loading = loadObjectKey({ credentialsDir: undefined, keyDir: folder.path });
  await expect(loading).rejects.toThrow(ObjectKeyError);
});
