import { describe, expect, test } from 'vitest';
import { VOCABULARIES, type VocabularyName } from '#api/vocabulary.ts';
import { readImagePolicyConfig } from '../image-policy/config.ts';
import { readNodeSelectorConfig, readTolerationConfig } from '../namespace-scheduling/config.ts';
import { readPodSecurityConfig } from '../pod-security/config.ts';
import { loadPluginConfigs } from './load.ts';
import { type PluginConfig, PluginConfigError } from './plugin-config.ts';

const load = (files: Readonly<Record<string, string>>, file = '/etc/a/config') =>
  loadPluginConfigs(file, {
    readFile: (path) =>
      files[path] === undefined ? Promise.reject(new Error('no such file')) : Promise.resolve(files[path]),
  });

const { apiGroupDomain: domain } = VOCABULARIES.plat;
const head = `apiVersion: apiserver.config.${domain}/v1\nkind: AdmissionConfiguration\n`;

const problemsOf = async (made: Promise<unknown>): Promise<readonly string[]> => {
  const thrown: unknown = await made.catch((error: unknown) => error);
  if (!(thrown instanceof PluginConfigError)) throw new Error('no error was found', { cause: thrown });
  return thrown.problems;
};

describe('loadPluginConfigs', () => {
  test('no file has no settings', async () => {
    expect(await loadPluginConfigs('', { readFile: () => Promise.reject(new Error('unread')) })).toEqual(
      new Map(),
    );
  });

  test.each<[VocabularyName, string, string]>([
    ['plat', 'apiserver.config', 'v1'],
    ['kubernetes', 'apiserver.config', 'v1'],
    ['kubernetes', 'apiserver', 'v1alpha1'],
  ])('settings stand in the file or in one of their own (%s, %s/%s)', async (name, group, version) => {
    const found = await load({
      '/etc/a/config': `apiVersion: ${group}.${VOCABULARIES[name].apiGroupDomain}/${version}
kind: AdmissionConfiguration
plugins:
- {name: A, configuration: {x: 1}}
- {name: B, path: b/file}
- {name: C, path: /c, configuration: {y: 1}}
- {name: D}`,
      '/etc/a/b/file': 'z: 1',
    });
    expect([...found]).toEqual([
      ['A', { file: '/etc/a/config', path: 'plugins[0].configuration', value: { x: 1 } }],
      ['B', { file: '/etc/a/b/file', path: '', value: { z: 1 } }],
      ['C', { file: '/etc/a/config', path: 'plugins[2].configuration', value: { y: 1 } }],
    ]);
  });

  test('a file without a kind configures two plugins', async () => {
    const found = await load({ '/etc/a/config': 'imagePolicy: {}' });
    expect([...found.keys()]).toEqual(['ImagePolicyWebhook', 'PodNodeSelector']);
  });

  test.each<[string, string, string]>([
    ['nothing', '', 'the file is empty'],
    ['no YAML', 'a: [', 'config'],
    ['another kind', 'apiVersion: v1\nkind: Pod\n', 'must be AdmissionConfiguration of'],
    ['a plugin twice', `${head}plugins: [{name: A}, {name: A}]`, 'plugins[1].name: Duplicate value: "A"'],
    ['a plugin without a name', `${head}plugins: [{path: x}]`, 'plugins[0].name: Required value'],
    ['unknown members', `${head}plugin: []`, 'did you mean plugins?'],
    ['a file that is not there', `${head}plugins: [{name: A, path: gone}]`, '/etc/a/gone: '],
    ['two documents', `${head}---\na: 1`, 'must be one document'],
  ])('refuses %s', async (_, text, expected) => {
    const problems = await problemsOf(load({ '/etc/a/config': text }));
    expect(problems.join('\n')).toContain(expected);
    expect(problems[0]).toMatch(/^--admission-control-config-file: /);
  });
});

describe('settings', () => {
  const config = (value: unknown): PluginConfig => ({ file: '/etc/a/config', path: '', value });

  test.each<VocabularyName>(['plat', 'kubernetes'])('of ImagePolicyWebhook in the words of %s', (name) => {
    const { clientConfigFileMember: member } = VOCABULARIES[name];
    expect(readImagePolicyConfig(config({ imagePolicy: { [member]: 'x' } }))).toEqual({
      clientConfigFile: '/etc/a/x',
      allowMs: 300_000,
      denyMs: 30_000,
      retryMs: 500,
      defaultAllow: false,
    });
  });

  const kind = (group: string, version: string, name: string, more: object): object => ({
    apiVersion: `${group}.${domain}/${version}`,
    kind: name,
    ...more,
  });
  const tolerations = (more: object): object =>
    kind('podtolerationrestriction.admission', 'v1alpha1', 'Configuration', more);
  const security = (more: object): object =>
    kind('pod-security.admission.config', 'v1', 'PodSecurityConfiguration', more);

  test.each<[string, () => unknown, string]>([
    ['no file', () => readImagePolicyConfig(config({ imagePolicy: {} })), 'imagePolicy.platConfigFile'],
    ['nothing', () => readImagePolicyConfig(config({})), 'imagePolicy: Required value'],
    ['too long a time', () => readImagePolicyConfig(config({ imagePolicy: { allowTTL: 1801 } })), 'allowTTL'],
    [
      'no selector',
      () => readNodeSelectorConfig(config({ podNodeSelectorPluginConfig: { ns: 'a' } })),
      'podNodeSelectorPluginConfig.ns',
    ],
    ['no toleration', () => readTolerationConfig(config(tolerations({ default: [1] }))), 'default'],
    ['another kind', () => readTolerationConfig(config({})), 'must be Configuration of'],
    ['no level', () => readPodSecurityConfig(config(security({ defaults: { warn: 'x' } }))), 'defaults.warn'],
  ])('are refused: %s', async (_, read, expected) => {
    const problems = await problemsOf((async () => read())());
    expect(problems.join('\n')).toContain(expected);
  });
});
