import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { formatFieldError } from '#api/meta/field-error.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { createCredentialProviders } from './credential-provider.ts';
import { type CredentialProviderSpec, decodeCredentialProviderConfig } from './credential-provider-config.ts';
import { loadCredentialProviderConfig } from './load-credential-providers.ts';
import { type PluginRun, runPlugin } from './run-plugin.ts';

const never = new AbortController().signal;
const API = `${VOCABULARIES.plat.credentialProviderApiGroup}/v1beta1`;
const CONFIG_API = `${VOCABULARIES.plat.configApiGroup}/v1beta1`;
const spec: CredentialProviderSpec = {
  name: 'plugin',
  matchImages: ['*.reg.io', 'reg.io/team'],
  defaultCacheMs: 60_000,
  apiVersion: API,
  args: ['get'],
  env: [{ name: 'REGION', value: 'x' }],
};
const config = (provider: object) => ({
  apiVersion: CONFIG_API,
  kind: 'CredentialProviderConfig',
  providers: [
    {
      name: 'plugin',
      matchImages: ['reg.io'],
      defaultCacheDuration: '1h',
      apiVersion: API,
      ...provider,
    },
  ],
});
const response = (more: object = {}) =>
  JSON.stringify({
    kind: 'CredentialProviderResponse',
    apiVersion: API,
    cacheKeyType: 'Image',
    auth: { 'a.reg.io': { username: 'u', password: 'p' } },
    ...more,
  });

/** A plugin with a configurable response that counts its runs. */
function setup(output: () => string, provider: Partial<CredentialProviderSpec> = {}) {
  const runs: PluginRun[] = [];
  const clock = createFakeClock();
  const logged: string[] = [];
  const [provide] = createCredentialProviders(
    {
      clock,
      log: {
        ...silentLogger,
        warn: (fields) =>
          void logged.push(JSON.stringify(fields, (_, v: unknown) => (v instanceof Error ? String(v) : v))),
      },
      env: { PATH: '/bin' },
      async runPlugin(run) {
        runs.push(run);
        return output();
      },
    },
    { binDir: '/plugins', providers: [{ ...spec, ...provider }] },
  );
  return { provide: provide ?? (() => Promise.resolve([])), runs, clock, logged };
}

describe('createCredentialProviders', () => {
  test('runs the plugin with the image, the arguments and the environment', async () => {
    const { provide, runs } = setup(() => response());
    const table = await provide('a.reg.io/app', never);
    expect(table).toEqual([
      ['a.reg.io', { username: 'u', password: 'p', identityToken: '', registryToken: '' }],
    ]);
    expect(runs[0]).toMatchObject({
      path: '/plugins/plugin',
      args: ['get'],
      env: { PATH: '/bin', REGION: 'x' },
      timeoutMs: 60_000,
    });
    expect(JSON.parse(runs[0]?.input ?? '')).toEqual({
      kind: 'CredentialProviderRequest',
      apiVersion: API,
      image: 'a.reg.io/app',
    });
  });

  test.each<[string, object, readonly string[], number]>([
    ['an image', { cacheKeyType: 'Image' }, ['a.reg.io/x', 'a.reg.io/x', 'a.reg.io/y'], 2],
    ['a registry', { cacheKeyType: 'Registry' }, ['a.reg.io/x', 'a.reg.io/y', 'b.reg.io/x'], 2],
    ['everything', { cacheKeyType: 'Global' }, ['a.reg.io/x', 'b.reg.io/y'], 1],
    ['nothing for duration 0', { cacheDuration: '0s' }, ['a.reg.io/x', 'a.reg.io/x'], 2],
    ['nothing without logins', { auth: null }, ['a.reg.io/x', 'a.reg.io/x'], 2],
    ['nothing for foreign images', {}, ['reg.io/other', 'x.y.reg.io/x', 'a.reg.io:5000/x'], 0],
  ])('caches a response for %s', async (_, more, images, expected) => {
    const { provide, runs } = setup(() => response(more));
    for (const image of images) await provide(image, never);
    expect(runs).toHaveLength(expected);
  });

  test('runs the plugin again when the response has expired', async () => {
    const { provide, runs, clock } = setup(() => response({ cacheDuration: '10s' }));
    await provide('a.reg.io/x', never);
    await clock.advance(9_999);
    await provide('a.reg.io/x', never);
    expect(runs).toHaveLength(1);
    await clock.advance(1);
    await provide('a.reg.io/x', never);
    expect(runs).toHaveLength(2);
  });

  test.each<[string, string]>([
    ['is not JSON', 'password=hunter2'],
    ['is of another kind', response({ kind: 'hunter2' })],
    ['is of another version', response({ apiVersion: 'hunter2/v1' })],
    ['has an unknown key type', response({ cacheKeyType: 'hunter2' })],
    ['has a bad duration', response({ cacheDuration: 'hunter2' })],
    ['has a bad login', response({ auth: { 'a.reg.io': { username: 'u', password: ['hunter2'] } } })],
  ])('provides nothing when the response %s, and does not quote it', async (_, output) => {
    const { provide, logged } = setup(() => output);
    expect(await provide('a.reg.io/x', never)).toEqual([]);
    expect(logged).toHaveLength(1);
    expect(logged.join('')).not.toContain('hunter2');
  });
});

describe('decodeCredentialProviderConfig', () => {
  test('accepts both vocabularies and every version', () => {
    for (const words of Object.values(VOCABULARIES)) {
      for (const version of ['v1alpha1', 'v1beta1', 'v1']) {
        const apiVersion = `${words.credentialProviderApiGroup}/${version}`;
        const value = { ...config({ apiVersion }), apiVersion: `${words.configApiGroup}/${version}` };
        expect(decodeCredentialProviderConfig(value)).toMatchObject({
          kind: 'parsed',
          providers: [{ apiVersion, defaultCacheMs: 3_600_000, args: [], env: [] }],
        });
      }
    }
  });

  test.each<[object, string]>([
    [{ name: '../evil' }, 'providers[0].name: Invalid value: "../evil": must not contain a path separator'],
    [{ name: '..' }, 'providers[0].name: Invalid value: "..": must be the name of a program'],
    [{ name: 'a b' }, 'providers[0].name: Invalid value: "a b": must not contain spaces'],
    [{ name: undefined }, 'providers[0].name: Required value: name of the program in the plugin directory'],
    [{ matchImages: [] }, 'providers[0].matchImages: Required value: at least one pattern'],
    [{ matchImages: ['[a'] }, 'providers[0].matchImages[0]: Invalid value: "[a": contains a malformed glob'],
    [
      { defaultCacheDuration: '-1s' },
      'providers[0].defaultCacheDuration: Invalid value: "-1s": must not be negative',
    ],
    [
      { defaultCacheDuration: undefined },
      'providers[0].defaultCacheDuration: Required value: a duration such as 12h or 0s',
    ],
    [{ args: 'x' }, 'providers[0].args: Invalid value: must be a list of strings'],
    [
      { colour: 1 },
      `providers[0].colour: Unknown field: known fields are name, matchImages, defaultCacheDuration, apiVersion, args, env`,
    ],
  ])('rejects %j', (provider, expected) => {
    const result = decodeCredentialProviderConfig(config(provider));
    expect(result.kind === 'invalid' && result.errors.map(formatFieldError)).toEqual([expected]);
  });

  test('reports every error at once and quotes no values of variables', () => {
    const result = decodeCredentialProviderConfig({
      apiVersion: 'v9',
      providers: [
        { name: 'a/b', env: [{ name: 'A=B', value: 7 }] },
        { name: 'a/b', matchImages: ['x'], defaultCacheDuration: '1h', apiVersion: API },
      ],
    });
    const fields = result.kind === 'invalid' ? result.errors.map((error) => error.field) : [];
    expect(fields).toEqual([
      'apiVersion',
      'kind',
      'providers[0].name',
      'providers[0].matchImages',
      'providers[0].defaultCacheDuration',
      'providers[0].apiVersion',
      'providers[0].env[0].name',
      'providers[0].env[0].value',
      'providers[1].name',
      'providers[1].name',
    ]);
    expect(JSON.stringify(result)).not.toContain('"badValue":7');
  });
});

describe('plugins on disk', () => {
  let dir: string;
  beforeEach(async () => {
    dir = await mkdtemp('/tmp/na-cp-');
    await mkdir(join(dir, 'bin'));
  });
  afterEach(async () => await rm(dir, { recursive: true }));

  async function program(name: string, script: string): Promise<string> {
    const path = join(dir, 'bin', name);
    await writeFile(path, `#!/bin/sh\n${script}\n`);
    await chmod(path, 0o755);
    return path;
  }
  const run = (path: string, timeoutMs = 10_000, signal = never) =>
    runPlugin({ path, args: ['one'], env: { VALUE: 'v' }, input: 'request', timeoutMs, signal });

  test('get request, arguments and environment, and nothing else', async () => {
    const path = await program(
      'p',
      'read -r text; echo "$text $1 $VALUE ${HOME-unset}"; pwd; echo noise >&2',
    );
    expect(await run(path)).toBe('request one v unset\n/\n');
  });

  test('are killed at the timeout and on abort', async () => {
    const path = await program('slow', 'exec sleep 100');
    await expect(run(path, 50)).rejects.toThrow('did not respond within 50 ms');
    const controller = new AbortController();
    const aborted = run(path, 10_000, controller.signal);
    controller.abort(new Error('gone'));
    await expect(aborted).rejects.toThrow('gone');
  });

  test('fail without showing what they printed', async () => {
    const path = await program('bad', 'echo hunter2; echo hunter2 >&2; exit 3');
    const error: unknown = await run(path).catch((thrown: unknown) => thrown);
    expect(String(error)).toBe('PluginError: exited with code 3');
    await expect(run(join(dir, 'none'))).rejects.toThrow('could not be run: ENOENT');
    await expect(run(await program('loud', 'exec yes'))).rejects.toThrow('printed more than');
  });

  test('are checked when the configuration is loaded', async () => {
    const configPath = join(dir, 'config.yaml');
    const text = [
      `apiVersion: ${CONFIG_API}`,
      'kind: CredentialProviderConfig',
      'providers:',
      '- name: plugin',
      '  matchImages: ["*.reg.io"]',
      '  defaultCacheDuration: 1h',
      `  apiVersion: ${API}`,
    ].join('\n');
    await writeFile(configPath, text);
    const load = async (binDir = join(dir, 'bin')) => {
      const result = await loadCredentialProviderConfig({ configPath, binDir });
      return result.kind === 'parsed'
        ? result.providers.length
        : result.errors.map(formatFieldError).join('\n');
    };
    expect(await load()).toContain('providers[0].name: Invalid value');
    expect(await load(join(dir, 'nowhere'))).toContain('must be an existing directory');
    await program('plugin', 'true');
    expect(await load()).toBe(1);
    await writeFile(configPath, `${text}\n${text}`);
    expect(await load()).not.toBe(1);
    await rm(configPath);
    expect(await load()).toContain('cannot be read (ENOENT)');
  });
});
