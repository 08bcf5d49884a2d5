import { execFileSync } from 'node:child_process';
import { chown, mkdir, stat, symlink, writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { createTempDir } from '../../testing/temp.ts';
import { dataOwner, giveTo } from './data-owner.ts';

const OWNER = { uid: 12_345, gid: 12_346 };

test('restored files belong to the owner of the data directory; links are not followed', async () => {
  await using dir = await createTempDir();
  const data = `${dir.path}/data`;
  await mkdir(`${data}/store`, { recursive: true });
  await writeFile(`${data}/store/db`, '');
  await writeFile(`${dir.path}/foreign`, '');
  await symlink(`${dir.path}/foreign`, `${data}/store/link`);
  expect(await dataOwner(data)).toBeUndefined();
  await chown(data, OWNER.uid, OWNER.gid);
  expect(await dataOwner(`${data}/pki`)).toEqual(OWNER);
  await giveTo(OWNER, `${data}/store`);
  expect(await stat(`${data}/store/db`)).toMatchObject(OWNER);
  expect((await stat(`${dir.path}/foreign`)).uid).toBe(0);
});

test('a command for the files of another user runs as that user', async () => {
  await using dir = await createTempDir();
  await chown(dir.path, OWNER.uid, OWNER.gid);
  const script = `import { becomeOwner } from ${JSON.stringify(new URL('./data-owner.ts', import.meta.url).pathname)};
    await becomeOwner(process.argv[1]); console.log(process.getuid(), process.getgid(), process.getgroups().join());`;
  const output = execFileSync(process.execPath, ['--input-type=module', '-e', script, dir.path], {
    encoding: 'utf8',
  });
  expect(output.trim()).toBe(`${OWNER.uid} ${OWNER.gid} ${OWNER.gid}`);
});
