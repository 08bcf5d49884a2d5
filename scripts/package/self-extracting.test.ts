import { execFile } from 'node:child_process';
import { appendFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { createTar } from '#agent/runtime/managed/tar.ts';
import { createTempDir } from '../../testing/temp.ts';
import { withFolders } from './deb.ts';
import { selfExtracting } from './self-extracting.ts';
import { fileEntry } from './tree.ts';

const run = promisify(execFile);
const USER = 12_345;

/** A single file whose program prints its arguments. */
function archive(): Buffer {
  const program = fileEntry('top/bin/p', '#!/bin/sh\necho "got $*"\n', 0o755);
  return selfExtracting(gzipSync(createTar(withFolders([program]))), 'top', 'bin/p');
}

async function setUp() {
  const dir = await createTempDir();
  const file = join(dir.path, 'program');
  await writeFile(file, archive(), { mode: 0o755 });
  const cache = join(dir.path, 'cache');
  const isRoot = process.getuid?.() === 0;
  if (isRoot) await run('chown', [String(USER), dir.path]);
  const env = { ...process.env, XDG_CACHE_HOME: cache };
  const user = isRoot ? { uid: USER, gid: USER } : {};
  return { dir, file, cache, call: (...args: readonly string[]) => run(file, [...args], { env, ...user }) };
}

test('extracts itself once and passes its arguments on, also when started twice at the same time', async () => {
  const { dir, cache, call } = await setUp();
  await using _ = dir;
  const outputs = await Promise.all([call('a', 'b c'), call('a', 'b c'), call('a', 'b c')]);
  for (const { stdout } of outputs) expect(stdout).toBe('got a b c\n');
  expect(await readdir(join(cache, 'program'))).toHaveLength(1);
  expect((await call('again')).stdout).toBe('got again\n');
});

test('a damaged file does not run', async () => {
  const { dir, cache, file, call } = await setUp();
  await using _ = dir;
  await appendFile(file, 'more');
  await expect(call()).rejects.toThrow('is damaged');
  expect(await readdir(join(cache, 'program'))).toEqual([]);
});
