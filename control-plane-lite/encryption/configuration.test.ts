import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { VOCABULARIES, type VocabularyName } from '#api/vocabulary.ts';
import { ofRound } from '../../testing/rounds.ts';
import { EncryptionConfigError, parseEncryptionConfiguration } from './configuration.ts';

const RESOURCES = new Set(['secrets', 'configmaps', 'deployments.apps']);
const secret = (bytes: number): string => Buffer.alloc(bytes, 7).toString('base64');

const parse = async (text: string, name: VocabularyName = 'kubernetes') =>
  parseEncryptionConfiguration('/keys', text, {
    domain: VOCABULARIES[name].apiGroupDomain,
    resources: RESOURCES,
  });

const fileOf = (providers: string, resources = '[secrets]', name: VocabularyName = 'kubernetes'): string =>
  `apiVersion: apiserver.config.${VOCABULARIES[name].apiGroupDomain}/v1
kind: EncryptionConfiguration
resources:
- resources: ${resources}
  providers: ${providers}`;

const problemsOf = async (text: string): Promise<string> => {
  const thrown: unknown = await parse(text).catch((error: unknown) => error);
  if (!(thrown instanceof EncryptionConfigError)) throw new Error('no error was found', { cause: thrown });
  expect(thrown.problems[0]).toMatch(/^--encryption-provider-config: \/keys: /);
  return thrown.problems.join('\n');
};

describe('parseEncryptionConfiguration', () => {
  test.each<VocabularyName>(['plat', 'kubernetes'])('reads every provider (%s)', async (name) => {
    const providers = `
  - aescbc: {keys: [{name: a, secret: ${secret(32)}}, {name: b, secret: ${secret(16)}}]}
  - aesgcm: {keys: [{name: a, secret: ${secret(24)}}]}
  - secretbox: {keys: [{name: a, secret: ${secret(32)}}]}
  - kms: {name: one, endpoint: unix:///run/kms.sock}
  - kms: {name: two, endpoint: unix:///run/kms.sock, cachesize: -1, timeout: 500ms}
  - kms: {name: two, apiVersion: v2, endpoint: unix:///run/kms.sock}
  - identity: {}`;
    const [rule] = await parse(
      fileOf(providers, '[secrets, deployments.apps, widgets.example.com]', name),
      name,
    );
    expect(rule?.resources).toEqual(['secrets', 'deployments.apps', 'widgets.example.com']);
    const kms = { kind: 'kms', socket: '/run/kms.sock', timeoutMs: 3000, cacheSize: 1000 };
    expect(rule?.providers).toEqual([
      {
        kind: 'aescbc',
        keys: [
          { name: 'a', secret: Buffer.alloc(32, 7) },
          { name: 'b', secret: Buffer.alloc(16, 7) },
        ],
      },
      { kind: 'aesgcm', keys: [{ name: 'a', secret: Buffer.alloc(24, 7) }] },
      { kind: 'secretbox', keys: [{ name: 'a', secret: Buffer.alloc(32, 7) }] },
      { ...kms, version: 'v1', name: 'one' },
      { ...kms, version: 'v1', name: 'two', timeoutMs: 500, cacheSize: 0 },
      { ...kms, version: 'v2', name: 'two' },
      { kind: 'identity' },
    ]);
  });

  const at = 'resources[0].providers[0]';
  test.each<readonly [string, string, string]>([
    ['nothing', '', 'the file is empty'],
    ['no YAML', 'a: [', '/keys: '],
    ['two documents', `${fileOf('[{identity: {}}]')}\n---\na: 1`, 'must be one document'],
    ['another kind', 'apiVersion: v1\nkind: Pod', 'kind: Unsupported value: "Pod"'],
    ['no rules', fileOf('[]').split('resources:')[0] ?? '', 'resources: Required value'],
    ['no providers', fileOf('[]'), 'resources[0].providers: Required value'],
    ['no resources', fileOf('[{identity: {}}]', '[]'), 'resources[0].resources: Required value'],
    [
      'a resource that does not exist',
      fileOf('[{identity: {}}]', '[secret]'),
      'resources[0].resources[0]: Unsupported',
    ],
    ['an unknown provider', fileOf('[{aes: {}}]'), 'aes'],
    ['two providers in one entry', fileOf('[{identity: {}, kms: {}}]'), `${at}: Invalid value`],
    ['no keys', fileOf('[{aescbc: {keys: []}}]'), `${at}.aescbc.keys: Required value`],
    ['a provider without content', fileOf('[{aescbc: null}]'), `${at}.aescbc: Required value`],
    [
      'a key without a name',
      fileOf(`[{aesgcm: {keys: [{secret: ${secret(16)}}]}}]`),
      'keys[0].name: Required',
    ],
    [
      'a name with a colon',
      fileOf(`[{aesgcm: {keys: [{name: 'a:b', secret: ${secret(16)}}]}}]`),
      'keys[0].name: Invalid',
    ],
    [
      'a name twice',
      fileOf(`[{aesgcm: {keys: [{name: a, secret: ${secret(16)}}, {name: a, secret: ${secret(16)}}]}}]`),
      'keys[1].name: Duplicate value: "a"',
    ],
    ['no secret', fileOf('[{aesgcm: {keys: [{name: a}]}}]'), 'keys[0].secret: Required value'],
    ['no base64', fileOf("[{aesgcm: {keys: [{name: a, secret: '*'}]}}]"), 'must be base64'],
    ['a short key', fileOf(`[{aescbc: {keys: [{name: a, secret: ${secret(17)}}]}}]`), 'bytes, not of 17'],
    [
      'a short box',
      fileOf(`[{secretbox: {keys: [{name: a, secret: ${secret(16)}}]}}]`),
      'of 32 bytes, not of 16',
    ],
    ['no endpoint', fileOf('[{kms: {name: a}}]'), `${at}.kms.endpoint: Required value`],
    ['another scheme', fileOf('[{kms: {name: a, endpoint: tcp://x}}]'), `${at}.kms.endpoint: Invalid value`],
    ['no cache', fileOf('[{kms: {name: a, endpoint: unix:///x, cachesize: 0}}]'), `${at}.kms.cachesize`],
    [
      'a cache of version 2',
      fileOf('[{kms: {apiVersion: v2, name: a, endpoint: unix:///x, cachesize: 1}}]'),
      'v1 only',
    ],
    ['a negative time', fileOf('[{kms: {name: a, endpoint: unix:///x, timeout: -1s}}]'), `${at}.kms.timeout`],
    ['a version', fileOf('[{kms: {apiVersion: v3, name: a, endpoint: unix:///x}}]'), `${at}.kms.apiVersion`],
    [
      'two services of one name',
      fileOf('[{kms: {name: a, endpoint: unix:///x}}, {kms: {name: a, endpoint: unix:///y}}]'),
      'different endpoints',
    ],
  ])('refuses %s', async (_, text, expected) => {
    expect(await problemsOf(text)).toContain(expected);
  });

  test('never shows a secret', async () => {
    const text = fileOf('[{aescbc: {keys: [{name: a, secret: c2VjcmV0LXdvcmQ=}, {name: b, secret: 12}]}}]');
    expect(await problemsOf(text)).not.toMatch(/c2VjcmV0|secret-word|: 12/);
  });

  test('any input is a configuration or an error with problems', async () => {
    const member = fc.constantFrom('aescbc', 'kms', 'identity', 'keys', 'name', 'secret', 'endpoint', 'x');
    const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
      tree: fc.oneof(
        { depthSize: 'small' },
        fc.constantFrom(null, 1, true, '', 'a', 'unix:///x', secret(16)),
        fc.array(tie('tree'), { maxLength: 3 }),
        fc.dictionary(member, tie('tree'), { maxKeys: 3 }),
      ),
    }));
    await fc.assert(
      fc.asyncProperty(tree, fc.string(), async (providers, noise) => {
        for (const text of [fileOf(JSON.stringify(providers)), noise]) {
          const result: unknown = await parse(text).catch((error: unknown) => error);
          expect(Array.isArray(result) || result instanceof EncryptionConfigError).toBe(true);
        }
      }),
      { numRuns: ofRound({ short: 100, long: 5000 }) },
    );
  });
});
