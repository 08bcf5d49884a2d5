import { stat, writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { createTempDir } from '../../../testing/temp.ts';
import { createDir } from './create-dir.ts';

test('creates missing directories, and nothing twice', async () => {
  await using dir = await createTempDir();
  const path = `${dir.path}/a/b/c`;
  await Promise.all([createDir(path, 0o700), createDir(path, 0o700)]);
  await createDir(path, 0o755);
  expect((await stat(path)).mode & 0o777).toBe(0o700);
  expect((await stat(`${dir.path}/a`)).mode & 0o777).toBe(0o700);
});

test('fails at once where nothing can be created', async () => {
  await using dir = await createTempDir();
  await writeFile(`${dir.path}/file`, '');
  await expect(createDir(`${dir.path}/file`, 0o700)).rejects.toMatchObject({ code: 'EEXIST' });
  await expect(createDir(`${dir.path}/file/a`, 0o700)).rejects.toMatchObject({ code: 'ENOTDIR' });
  for (const path of ['/proc/nosuch', '/proc/nosuch/deep/er']) {
    await expect(createDir(path, 0o700)).rejects.toMatchObject({ code: 'ENOENT' });
  }
});
