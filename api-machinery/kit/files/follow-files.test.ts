import { mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createTempDir, type TempDir } from '../../../testing/temp.ts';
import { systemClock } from '../clock.ts';
import { type FollowedFiles, followFiles } from './follow-files.ts';

let dir: TempDir;
let followed: FollowedFiles<string> | undefined;
let lines: string[] = [];
const note = (fields: object, text?: string): void => void lines.push(text ?? JSON.stringify(fields));
const deps = { clock: systemClock, log: { warn: note, info: note } };
const WAIT = { timeout: 5000 };

/** Both texts, unless they differ in length: like a certificate and its key. */
function pair([left = '', right = '']: readonly string[]): string {
  if (left.length !== right.length) throw new Error('they do not match');
  return `${left} ${right}`;
}

const pathOf = (name: string): string => join(dir.path, name);
async function follow(...names: readonly string[]): Promise<FollowedFiles<string>> {
  followed = await followFiles(deps, { what: 'pair', paths: names.map(pathOf), parse: pair });
  return followed;
}

async function replace(name: string, text: string): Promise<void> {
  await writeFile(pathOf(`${name}.new`), text);
  await rename(pathOf(`${name}.new`), pathOf(name));
}

beforeEach(async () => {
  dir = await createTempDir('na-follow-');
  lines = [];
  await mkdir(pathOf('a'));
  await writeFile(pathOf('a/cert'), '1');
  await writeFile(pathOf('a/key'), '2');
});
afterEach(async () => {
  followed?.close();
  followed = undefined;
  await dir[Symbol.asyncDispose]();
});

describe('followFiles', () => {
  test('fails at first for a missing file, and for one that cannot be used', async () => {
    await expect(follow('a/cert', 'a/other')).rejects.toThrow(/other cannot be read/);
    await writeFile(pathOf('a/key'), '22');
    await expect(follow('a/cert', 'a/key')).rejects.toThrow('they do not match');
  });

  test('reads files again that are renamed into place, or written in place', async () => {
    const files = await follow('a/cert', 'a/key');
    await replace('a/cert', '3');
    await expect.poll(files.current, WAIT).toBe('3 2');
    await writeFile(pathOf('a/key'), '4');
    await expect.poll(files.current, WAIT).toBe('3 4');
  });

  test('notifies once for two files that only match together, without a complaint', async () => {
    const files = await follow('a/cert', 'a/key');
    const seen: string[] = [];
    files.onChange(() => seen.push(files.current()));
    await replace('a/cert', '33');
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(files.current()).toBe('1 2');
    await replace('a/key', '44');
    await expect.poll(() => seen, WAIT).toEqual(['33 44']);
    expect(lines).toEqual(['Changed pair loaded']);
  });

  test('keeps the value in use while the files cannot be used, and reports that once', async () => {
    const files = await follow('a/cert', 'a/key');
    await replace('a/cert', '333');
    await expect
      .poll(() => lines, WAIT)
      .toEqual(['Failed to load changed pair; the previous one stays in use']);
    await writeFile(pathOf('a/cert'), '4444');
    await new Promise((resolve) => setTimeout(resolve, 1200));
    expect(lines).toHaveLength(1);
    expect(files.current()).toBe('1 2');
    await rm(pathOf('a/cert'));
    await replace('a/cert', '5');
    await expect.poll(files.current, WAIT).toBe('5 2');
  });

  test('follows a link of which the target, or the folder behind it, is replaced', async () => {
    await mkdir(pathOf('v'));
    await mkdir(pathOf('v/..1'));
    await mkdir(pathOf('v/..2'));
    for (const [name, text] of Object.entries({
      '..1/cert': '1',
      '..1/key': '1',
      '..2/cert': '2',
      '..2/key': '2',
    }))
      await writeFile(pathOf(`v/${name}`), text);
    await symlink('..1', pathOf('v/..data'));
    await symlink('..data/cert', pathOf('v/cert'));
    await symlink('..data/key', pathOf('v/key'));
    const files = await follow('v/cert', 'v/key');
    await symlink('..2', pathOf('v/..data_tmp'));
    await rename(pathOf('v/..data_tmp'), pathOf('v/..data'));
    await expect.poll(files.current, WAIT).toBe('2 2');
    await replace('v/..2/cert', '7');
    await expect.poll(files.current, WAIT).toBe('7 2');
  });

  test('follows further files that a file names', async () => {
    const { dirname } = await import('node:path');
    followed = await followFiles(deps, {
      what: 'list',
      paths: [pathOf('a/cert')],
      parse: async ([name = ''], read) => `${name} ${await read(join(dirname(pathOf('a/cert')), name))}`,
    }).catch(() => undefined);
    expect(followed).toBeUndefined();
    await replace('a/cert', 'key');
    followed = await followFiles(deps, {
      what: 'list',
      paths: [pathOf('a/cert')],
      parse: async ([name = ''], read) => `${name} ${await read(pathOf(`a/${name}`))}`,
    });
    const { current } = followed;
    expect(current()).toBe('key 2');
    await replace('a/key', '3');
    await expect.poll(current, WAIT).toBe('key 3');
    await mkdir(pathOf('a/sub'));
    await writeFile(pathOf('a/sub/other'), '4');
    await replace('a/cert', 'sub/other');
    await expect.poll(current, WAIT).toBe('sub/other 4');
    await replace('a/sub/other', '5');
    await expect.poll(current, WAIT).toBe('sub/other 5');
  });

  test('follows a folder that is replaced', async () => {
    const files = await follow('a/cert', 'a/key');
    await mkdir(pathOf('b'));
    await writeFile(pathOf('b/cert'), '8');
    await writeFile(pathOf('b/key'), '9');
    await rename(pathOf('a'), pathOf('old'));
    await rename(pathOf('b'), pathOf('a'));
    await expect.poll(files.current, WAIT).toBe('8 9');
    await writeFile(pathOf('a/key'), '0');
    await expect.poll(files.current, WAIT).toBe('8 0');
  });
});
