import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createTempDir } from '../testing/temp.ts';
import { makeDataDir } from './data-dir.ts';

test('makes the folder and those above it, for root alone, and leaves one that is there', async () => {
  await using temp = await createTempDir('na-data-');
  const dir = join(temp.path, 'a', 'b', 'c');
  await makeDataDir(dir);
  await makeDataDir(dir);
  expect((await stat(dir)).mode & 0o777).toBe(0o700);
});

test.each([
  ['/proc/nosuch', /^--data-dir \/proc\/nosuch cannot be created: ENOENT/],
  ['/proc/nosuch/deeper', /cannot be created: ENOENT/],
  ['/dev/null/below', /cannot be created: ENOTDIR/],
])('reports at once that %s cannot be created', async (dir, message) => {
  await expect(makeDataDir(dir)).rejects.toThrow(message);
});

test('reports that a file exists at the path', async () => {
  await using temp = await createTempDir('na-data-');
  const file = join(temp.path, 'file');
  await writeFile(file, '');
  await expect(makeDataDir(file)).rejects.toThrow(/cannot be created: EEXIST/);
});
