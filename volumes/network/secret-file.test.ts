import { readdir, readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { expect, it } from 'vitest';
import { withSecretFile } from './secret-file.ts';
import { createTestRequest } from './test-request.ts';

it('is for its owner alone, in a folder for its owner alone, and goes when it was used', async () => {
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

it('goes when its use failed', async () => {
  await using test = await createTestRequest();
  const use = (): Promise<never> => Promise.reject(new Error('failed'));
  await expect(withSecretFile('key', use, test.base)).rejects.toThrow('failed');
  expect(await readdir(test.base)).toEqual([]);
});
