import { lstat, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { createTempDir } from '../../../testing/temp.ts';
import { replaceText } from '../write-private.ts';
import { loadClientConfig } from './load.ts';

const CONFIG = `
kind: Config
current-context: a
clusters: [{name: c, cluster: {server: "https://api"}}]
contexts: [{name: a, context: {cluster: c, user: u}}]
users: [{name: u, user: {tokenFile: token, colour: red}}]
`;

describe('loadClientConfig', () => {
  test('reads a file and those it names, and warns', async () => {
    await using dir = await createTempDir();
    await writeFile(`${dir.path}/config`, CONFIG);
    await writeFile(`${dir.path}/token`, 'secret');
    const { config, warnings } = await loadClientConfig(`${dir.path}/config`);
    expect(config.credentials.bearer).toEqual({ token: '', tokenFile: `${dir.path}/token` });
    expect(warnings).toEqual([
      expect.stringContaining(`${dir.path}/config: users[0].user.colour: Unknown field: is not used;`),
    ]);
  });

  test.each<[string, string | undefined, string]>([
    ['a missing file', undefined, ': Invalid value: the file must be readable: ENOENT'],
    ['a wrong file', 'kind: Pod', ': kind: Unsupported value: "Pod": must be Config'],
    ['a file beside it that is missing', CONFIG, '/token": the file must be readable: ENOENT'],
    ['a large file', ' '.repeat(1024 * 1024 + 1), ': Invalid value: must not have more than 1048576 bytes'],
  ])('rejects %s', async (_, text, message) => {
    await using dir = await createTempDir();
    if (text !== undefined) await writeFile(`${dir.path}/config`, text);
    await expect(loadClientConfig(`${dir.path}/config`)).rejects.toThrow(message);
  });
});

describe('replaceText', () => {
  test('replaces the target of a link, readable by its owner only', async () => {
    await using dir = await createTempDir();
    await mkdir(`${dir.path}/real`);
    await writeFile(`${dir.path}/real/f`, 'old', { mode: 0o644 });
    await symlink('real/f', `${dir.path}/f`);
    expect(await replaceText(`${dir.path}/f`, (text) => `${text} new`)).toBe(true);
    expect(await readFile(`${dir.path}/real/f`, 'utf8')).toBe('old new');
    expect((await lstat(`${dir.path}/f`)).isSymbolicLink()).toBe(true);
    expect((await stat(`${dir.path}/real/f`)).mode & 0o777).toBe(0o600);
    expect(await readdir(`${dir.path}/real`)).toEqual(['f']);
  });

  test('does not write the file without changes', async () => {
    await using dir = await createTempDir();
    await writeFile(`${dir.path}/f`, 'old');
    const before = await stat(`${dir.path}/f`);
    expect(await replaceText(`${dir.path}/f`, () => undefined)).toBe(false);
    expect(await replaceText(`${dir.path}/f`, (text) => text)).toBe(false);
    expect((await stat(`${dir.path}/f`)).ino).toBe(before.ino);
  });
});
