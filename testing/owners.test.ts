import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { expect, onTestFinished, test } from 'vitest';
import { forEachAbandoned, recordOwner } from './owners.ts';
import { createTempDir } from './temp.ts';

const REGISTRY = `/tmp/na-owners-${process.getuid?.() ?? 0}`;

/** Returns which of the directories are abandoned; forgets no owner of others. */
async function abandonedOf(...folders: readonly string[]): Promise<readonly string[]> {
  const found: string[] = [];
  await forEachAbandoned((folder) => {
    if (!folders.includes(folder)) return Promise.reject(new Error('not of this test'));
    found.push(folder);
    return Promise.resolve();
  });
  return found;
}

async function folderOf(record: string): Promise<string> {
  const folder = await mkdtemp('/tmp/na-owned-');
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const path = `${REGISTRY}/${record}`;
  onTestFinished(() => rm(path, { force: true }));
  await writeFile(path, `${folder}\n/tmp\n/tmp/na-../etc\n`);
  return folder;
}

test('a directory is abandoned once its owner is dead, even if another process has its pid', async () => {
  await using own = await createTempDir();
  await recordOwner(own.path);
  const boot = (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();
  const reused = await folderOf(`${boot}_${process.pid}_1`);
  const rebooted = await folderOf(`00000000-0000-0000-0000-000000000000_${process.pid}_2`);
  const found = await abandonedOf(own.path, reused, rebooted, '/tmp', '/tmp/na-../etc');
  expect(new Set(found)).toEqual(new Set([reused, rebooted]));
});
