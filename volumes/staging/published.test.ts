import { expect, test } from 'vitest';
import { silentLogger } from '#api/kit/logger.ts';
import { createTempDir } from '../../testing/temp.ts';
import { createPublished } from './published.ts';
import { createRecordFiles } from './record-files.ts';

test('volumes published to a pod concurrently are all recorded, in memory and on disk', async () => {
  await using dir = await createTempDir();
  const deps = { rootDir: dir.path, files: createRecordFiles(), log: silentLogger };
  const published = createPublished(deps);
  const names = ['a', 'b', 'c'];
  const keep = (name: string): Promise<void> =>
    published.keep('p1', { source: 'local', volumeName: name, uniqueName: `disk/${name}` });
  await Promise.all(names.map(keep));
  const usersIn = (found: typeof published) => Promise.all(names.map((name) => found.users(`disk/${name}`)));
  expect(await usersIn(published)).toEqual([['p1'], ['p1'], ['p1']]);
  expect(await usersIn(createPublished(deps))).toEqual([['p1'], ['p1'], ['p1']]);
});
