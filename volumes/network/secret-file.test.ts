import { readdir, readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { expect, it } from 'vitest';
import { createTestRequest } from './request.fixture.ts';
import { withSecretFile } from './secret-file.ts';

it('is readable only by its owner, in a directory of the same mode, and removed after use', async () => {
  await using test = await createTestRequest();
  const seen = await withSecretFile(
    'key',
    async (path) => ({
      content: await readFile(path, 'utf8'),
      mode: (await stat(path)).mode & 0o7777,
      folderMode: (await stat(dirname(path))).mode & 0o7777,
    }),
    test.base,
  );
  expect(seen).toEqual({ content: 'key', mode: 0o600, folderMode: 0o700 });
  expect(await readdir(test.base)).toEqual([]);
});

it('is removed when its use failed', async () => {
  await using test = await createTestRequest();
  const use = (): Promise<never> => Promise.reject(new Error('failed'));
  await expect(withSecretFile('key', use, test.base)).rejects.toThrow('failed');
  expect(await readdir(test.base)).toEqual([]);
});
