import { mkdir, readFile, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createTempDir } from '../../../testing/temp.ts';
import { createStateFile } from './state-file.ts';

test('contains the newest of many changes, and nothing at first', async () => {
  await using dir = await createTempDir('na-state-');
  const file = createStateFile(join(dir.path, 's'));
  expect(await file.read()).toBeUndefined();
  for (let i = 0; i < 50; i += 1) file.save(`text ${i}`);
  await file.saved();
  expect(await file.read()).toBe('text 49');
});

test('reports a failed write, and retries on request', async () => {
  await using dir = await createTempDir('na-state-');
  const path = join(dir.path, 's');
  const file = createStateFile(path);
  await mkdir(`${path}.tmp`);
  file.save('text');
  await expect(file.saved()).rejects.toThrow('EISDIR');
  await rmdir(`${path}.tmp`);
  await file.saved();
  expect(await readFile(path, 'utf8')).toBe('text');
});
