import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createTempDir } from '../../testing/temp.ts';
import { CONFIG_VERSIONS, fieldOf } from './file.ts';
import { ConfigError, configWarnings, parseConfig } from './parse.ts';
import { SETTINGS } from './settings.ts';

const [VERSION = ''] = CONFIG_VERSIONS;
const HEAD = `apiVersion: ${VERSION}\nkind: ControlPlaneConfiguration\n`;

async function withFile<T>(text: string, use: (path: string) => T): Promise<T> {
  await using dir = await createTempDir('na-config-');
  const path = join(dir.path, 'config.yaml');
  await writeFile(path, text);
  return use(path);
}

const parse = (text: string, ...argv: readonly string[]) =>
  withFile(text, (path) => parseConfig([`--config=${path}`, ...argv]));

const problemsOf = (text: string): Promise<readonly string[]> =>
  withFile(text, (path) => {
    try {
      parseConfig([`--config=${path}`]);
    } catch (thrown) {
      if (thrown instanceof ConfigError)
        return thrown.problems.map((problem) => problem.replaceAll(path, 'FILE'));
      throw thrown;
    }
    return [];
  });

describe('the configuration file', () => {
  test('has a field for each flag', async () => {
    const config = await parse(`${HEAD}
securePort: 7443
requestTimeout: 1m30s
profiling: false
goawayChance: 0.01
etcdServers: [http://a:1, http://b:2]
controllers: "*,-job"
featureGates: {AllAlpha: true, OpenAPIV3: false}
anonymousAuth: false
`);
    expect(config).toMatchObject({
      securePort: 7443,
      requestTimeout: 90_000,
      profiling: false,
      goawayChance: 0.01,
      etcdServers: ['http://a:1', 'http://b:2'],
      controllers: ['*', '-job'],
      featureGates: ['AllAlpha=true', 'OpenAPIV3=false'],
      anonymousAuth: false,
    });
  });

  test('gives way to flags', async () => {
    const config = await parse(
      `${HEAD}securePort: 7443\nprofiling: false\n`,
      '--secure-port=1',
      '--profiling',
    );
    expect(config).toMatchObject({ securePort: 1, profiling: true });
  });

  test('may be JSON', async () => {
    const head = { apiVersion: VERSION, kind: 'ControlPlaneConfiguration' };
    expect(await parse(JSON.stringify({ ...head, securePort: 1 }))).toMatchObject({ securePort: 1 });
  });

  test('may have fields without effect, which are reported', async () => {
    const config = await parse(`${HEAD}watchCacheSizes: [a#1]\n`);
    expect(configWarnings(config)[0]).toMatch(/^Without effect, ignored: --watch-cache-sizes \(/);
  });

  test.each<[string, string, readonly string[]]>([
    [
      'an unknown field',
      `${HEAD}securePrt: 1\n`,
      ['FILE: securePrt: unknown field; did you mean securePort?'],
    ],
    [
      'values of another type',
      `${HEAD}securePort: "1"\nprofiling: yes please\nrequestTimeout: 5\n`,
      [
        'FILE: securePort: "1" has the wrong type; write a whole number',
        'FILE: profiling: "yes please" has the wrong type; write true or false',
        'FILE: requestTimeout: 5 has the wrong type; write a text such as 30s, 5m or 1h30m',
      ],
    ],
    [
      'values outside of the range',
      `${HEAD}securePort: 70000\nvocabulary: latin\n`,
      [
        'FILE: securePort: "70000" is not a whole number from 0 to 65535',
        'FILE: vocabulary: "latin" is none of plat, kubernetes',
      ],
    ],
    [
      'another kind',
      'apiVersion: v1\nkind: Pod\n',
      [
        `FILE: apiVersion: "v1" is none of ${CONFIG_VERSIONS.join(', ')}`,
        'FILE: kind: "Pod" is not ControlPlaneConfiguration',
      ],
    ],
    ['no settings', '', ['FILE: the file is empty; write apiVersion, kind and settings']],
    ['a list', '[]', ['FILE: must be an object with a field for each setting']],
    ['two documents', `${HEAD}---\na: 1\n`, ['FILE: has several documents; write all settings into one']],
    ['another file in itself', `${HEAD}config: x\n`, ['FILE: config: unknown field']],
  ])('refuses %s', async (_, text, expected) => {
    const problems = await problemsOf(text);
    expect(
      problems.map((problem) => problem.replace(/config: unknown field.*/, 'config: unknown field')),
    ).toEqual(expected);
  });

  test('reports a syntax error with its place', async () => {
    expect((await problemsOf('a: [\n'))[0]).toMatch(/^FILE: line \d+, column \d+/);
  });

  test('that cannot be read is named', () => {
    expect(() => parseConfig(['--config=/no/such/file'])).toThrow(
      '--config: /no/such/file: there is no such file',
    );
  });

  test('fields of flags are derived from their names', () => {
    expect(fieldOf('http2-max-streams-per-connection')).toBe('http2MaxStreamsPerConnection');
    expect(SETTINGS).toHaveProperty(fieldOf('goaway-chance'));
  });
});
