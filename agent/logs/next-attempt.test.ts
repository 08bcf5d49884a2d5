import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { createTempDir } from '../../testing/temp.ts';
import { nextAttempt } from './next-attempt.ts';
import { containerLogPath } from './paths.ts';

const POD = { namespace: 'default', name: 'web', uid: 'u1' };

test.each<[string, readonly string[], number]>([
  ['no folder', [], 0],
  ['one log', ['0.log'], 1],
  ['many logs', ['2.log', '11.log', '9.log'], 12],
  ['rotated logs alone', ['3.log.20260101-000000.gz', '3.log.20260101-000001'], 4],
  ['other files', ['x.log', '7.txt', '-1.log', '5log', '99999999999999.log'], 0],
])('the next attempt after %s', async (_, names, attempt) => {
  await using dir = await createTempDir('na-attempt-');
  const folder = dirname(containerLogPath(dir.path, POD, 'c', 0));
  if (names.length > 0) await mkdir(folder, { recursive: true });
  for (const name of names) await writeFile(join(folder, name), '');
  expect(await nextAttempt(dir.path, POD, 'c')).toBe(attempt);
});
