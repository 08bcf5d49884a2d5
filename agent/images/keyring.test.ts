import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Secret } from '#api/gen/core-v1.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import {
  type CredentialTable,
  matchesRegistryKey,
  type RegistryCredential,
  selectCredentials,
} from './credentials.ts';
import { parseDockerConfig } from './docker-config.ts';
import { createKeyring, hostConfigDirs } from './keyring.ts';

const login = (username: string): RegistryCredential => ({
  username,
  password: 'p',
  identityToken: '',
  registryToken: '',
});
const table = (...keys: readonly string[]): CredentialTable => keys.map((key) => [key, login(key)] as const);
const names = (credentials: readonly RegistryCredential[]) => credentials.map(({ username }) => username);

describe('matchesRegistryKey', () => {
  test.each<[string, string, boolean]>([
    ['reg.io', 'reg.io/app', true],
    ['reg.io', 'reg.io:5000/app', false],
    ['reg.io:5000', 'reg.io:5000/app', true],
    ['*.reg.io', 'eu.reg.io/app', true],
    ['*.reg.io', 'a.eu.reg.io/app', false],
    ['*.reg.io', 'reg.io/app', false],
    ['*.*.io', 'a.b.io/app', true],
    ['e?.reg.io', 'eu.reg.io/app', true],
    ['[a-e]u.reg.io', 'eu.reg.io/app', true],
    ['[a-d]u.reg.io', 'eu.reg.io/app', false],
    ['prefix*.io', 'prefix-x.io/app', true],
    ['reg.io/team', 'reg.io/team/app', true],
    ['reg.io/team', 'reg.io/other/app', false],
    ['rXg.io', 'reg.io/app', false],
    ['r.g.io', 'reg.io/app', false],
    ['[.io', '[.io/app', true],
    ['[x.io', 'x.io/app', false],
  ])('%s for %s: %s', (key, image, expected) => {
    expect(matchesRegistryKey(key, image)).toBe(expected);
  });
});

describe('selectCredentials', () => {
  test.each<[string, readonly string[], string, readonly string[]]>([
    [
      'puts the longest path first',
      ['reg.io', 'reg.io/a/b', 'reg.io/a'],
      'reg.io/a/b/c',
      ['reg.io/a/b', 'reg.io/a', 'reg.io'],
    ],
    [
      'reads URLs and API versions',
      ['https://reg.io/v1/', 'http://reg.io/v2/'],
      'reg.io/a',
      ['https://reg.io/v1/', 'http://reg.io/v2/'],
    ],
    [
      'serves the default registry under its old name',
      ['https://index.docker.io/v1/'],
      'docker.io/library/a',
      ['https://index.docker.io/v1/'],
    ],
    ['serves no other registry with it', ['https://index.docker.io/v1/'], 'reg.io/a', []],
    [
      'prefers a login of the default registry that matches',
      ['docker.io', 'index.docker.io'],
      'docker.io/library/a',
      ['docker.io'],
    ],
  ])('%s', (_, keys, image, expected) => {
    expect(names(selectCredentials(table(...keys), image))).toEqual(expected);
  });
});

describe('parseDockerConfig', () => {
  const auth = Buffer.from('user:pa:ss').toString('base64');
  test('reads both formats, and auth before username and password', () => {
    const entry = { auth, username: 'x', password: 'y', email: 'z' };
    const expected = [['reg.io', { ...login('user'), password: 'pa:ss' }]];
    expect(parseDockerConfig(JSON.stringify({ auths: { 'reg.io': entry, empty: {} } }), 'json', 'f')).toEqual(
      expected,
    );
    expect(parseDockerConfig(JSON.stringify({ 'reg.io': entry }), 'legacy', 'f')).toEqual(expected);
    expect(parseDockerConfig('{"credHelpers":{}}', 'json', 'f')).toEqual([]);
  });

  test.each([
    '{"auths": hunter2}',
    '[]',
    '{"auths": "hunter2"}',
    '{"auths": {"reg.io": "hunter2"}}',
    '{"auths": {"reg.io": {"auth": "hunter2!"}}}',
    '{"auths": {"reg.io": {"auth": "aHVudGVyMg=="}}}',
    '{"auths": {"reg.io": {"password": ["hunter2"]}}}',
  ])('rejects %s without quoting it', (text) => {
    expect(() => parseDockerConfig(text, 'json', 'secret ns/name')).toThrow(
      expect.objectContaining({
        name: 'CredentialFormatError',
        message: expect.not.stringMatching(/hunter2|aHVud/) as unknown,
      }),
    );
  });
});

describe('createKeyring', () => {
  let dir: string;
  beforeEach(async () => {
    dir = await mkdtemp('/tmp/na-kr-');
  });
  afterEach(async () => await rm(dir, { recursive: true }));

  const content = (key: string, username: string) =>
    JSON.stringify({ auths: { [key]: { username, password: 'p' } } });
  const secret = (type: string, text: string, key = '.dockerconfigjson'): Secret => ({
    metadata: { name: 's', namespace: 'ns' },
    type,
    data: { [key]: Buffer.from(text).toString('base64') },
  });
  const request = (pullSecrets: readonly Secret[], repository = 'reg.io/app') => ({
    repository,
    pullSecrets,
    signal: new AbortController().signal,
  });

  test('uses Secrets, plugins and files in this order, without repeating a login', async () => {
    await writeFile(join(dir, 'config.json'), content('reg.io', 'from-file'));
    const keyring = createKeyring(
      {
        log: silentLogger,
        providers: [() => Promise.resolve(table('reg.io')), () => Promise.resolve(table('reg.io'))],
      },
      { configDirs: [dir] },
    );
    const { plat, kubernetes } = VOCABULARIES;
    const found = await keyring.lookup(
      request([
        secret(plat.secretTypeDockerConfigJson, content('reg.io', 'one')),
        secret(
          kubernetes.secretTypeDockerConfig,
          JSON.stringify({ 'reg.io': { username: 'two' } }),
          '.dockercfg',
        ),
        secret('Opaque', content('reg.io', 'ignored')),
        secret(plat.secretTypeDockerConfigJson, content('other.io', 'elsewhere')),
      ]),
    );
    expect(names(found)).toEqual(['one', 'two', 'reg.io', 'from-file']);
  });

  test('reads the first usable file, each time', async () => {
    const other = join(dir, 'other');
    await mkdir(other);
    const keyring = createKeyring({ log: silentLogger, providers: [] }, { configDirs: [dir, other] });
    expect(await keyring.lookup(request([]))).toEqual([]);
    await writeFile(join(other, '.dockercfg'), JSON.stringify({ 'reg.io': { username: 'legacy' } }));
    expect(names(await keyring.lookup(request([])))).toEqual(['legacy']);
    await writeFile(join(other, 'config.json'), content('reg.io', 'second'));
    expect(names(await keyring.lookup(request([])))).toEqual(['second']);
    await writeFile(join(dir, 'config.json'), 'broken');
    expect(names(await keyring.lookup(request([])))).toEqual(['second']);
    await writeFile(join(dir, 'config.json'), content('reg.io', 'first'));
    expect(names(await keyring.lookup(request([])))).toEqual(['first']);
  });

  test('fails for a Secret that cannot be read', async () => {
    const keyring = createKeyring({ log: silentLogger, providers: [] }, { configDirs: [] });
    const broken = secret(VOCABULARIES.plat.secretTypeDockerConfigJson, '{');
    await expect(keyring.lookup(request([broken]))).rejects.toThrow('secret ns/s: not valid JSON');
  });

  test('searches each directory of the host once', () => {
    expect(hostConfigDirs('/var/lib/nodeagent', '/root')).toEqual([
      '/var/lib/nodeagent',
      '/root/.docker',
      '/.docker',
    ]);
    expect(hostConfigDirs('/r', undefined)).toEqual(['/r', '/var/lib/nodeagent', '/.docker']);
  });
});
