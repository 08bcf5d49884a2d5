import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createTempDir } from '../../testing/temp.ts';
import { backupName, excessBackups, pruneBackups } from './backup-folder.ts';

const DAY_MS = 86_400_000;
const names = [0, 1, 2, 3].map((day) => backupName(Date.UTC(2026, 0, 30, 3, 4, 5) + day * DAY_MS));

test('names sort by time', () => {
  expect(names[0]).toBe('control-plane-lite-20260130T030405Z.backup');
  expect(names.toSorted()).toEqual(names);
});

test.each([
  [1, names.slice(0, 3).toReversed()],
  [3, names.slice(0, 1)],
  [4, []],
])('with %d retained, the oldest others go', (retain, excess) => {
  expect(excessBackups(names.toReversed(), retain)).toEqual(excess);
});

test('only files of that form are removed', async () => {
  await using dir = await createTempDir();
  const others = ['control-plane-lite-mine.backup', 'notes'];
  for (const name of [...names, ...others]) await writeFile(join(dir.path, name), '');
  expect(await pruneBackups(dir.path, 2)).toHaveLength(2);
  expect((await readdir(dir.path)).toSorted()).toEqual([...others, ...names.slice(2)].toSorted());
});
