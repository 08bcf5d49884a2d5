import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { loadConfig } from '../config/load.ts';
import { mergeNodeConfig, withoutSettings } from './node-config.ts';

const { plat } = VOCABULARIES;
const AUTHORITY = '/a "b"/ca.crt';
const options = { authorityFile: AUTHORITY };
const HEAD = `apiVersion: ${plat.configApiGroup}/v1beta1\nkind: ${plat.configKind}\n`;

async function read(text: string, vocabulary = 'plat') {
  const loaded = await loadConfig(['--config=/c', `--vocabulary=${vocabulary}`], {
    cwd: '/',
    readFile: () => Promise.resolve(text),
  });
  if (loaded.kind !== 'ok') throw new Error(JSON.stringify(loaded));
  return loaded;
}

describe('mergeNodeConfig', () => {
  test.each(['plat', 'kubernetes'] as const)('makes a file of safe settings (%s)', async (name) => {
    const { text, unchanged } = mergeNodeConfig(undefined, VOCABULARIES[name], options, '/c');
    const { config, warnings } = await read(text, name);
    expect(config.authentication).toMatchObject({
      anonymous: { enabled: false },
      webhook: { enabled: true },
      x509: { clientCAFile: AUTHORITY },
    });
    expect(config).toMatchObject({
      authorization: { mode: 'Webhook' },
      readOnlyPort: 0,
      rotateCertificates: true,
      serverTLSBootstrap: true,
    });
    expect([unchanged, warnings]).toEqual([[], []]);
  });

  const OWN: readonly (readonly [string, string])[] = [
    ['comments and settings', `# mine\n${HEAD}\n# pods\nstaticPodPath: /m # here\nmaxPods: 7\n`],
    ['sections of its own', `${HEAD}authentication:\n  # soon\n  webhook:\n    cacheTTL: 5s\nmaxPods: 7\n`],
    ['long lines', `${HEAD}maxPods: 7\nclusterDomain: ${'a.'.repeat(80)}io\n`],
    ['lists as people indent them', `${HEAD}maxPods: 7\nclusterDNS:\n  - 10.0.0.1\n`],
    [
      'JSON',
      `{ "apiVersion": "${plat.configApiGroup}/v1beta1", "kind": "${plat.configKind}", "maxPods": 7 }\n`,
    ],
  ];

  test.each(OWN)('adds to a file with %s, and takes it away again to the letter', async (_, before) => {
    const { text, added } = mergeNodeConfig(before, plat, options, '/c');
    expect(added).toHaveLength(7);
    const { config } = await read(text);
    expect(config).toMatchObject({ maxPods: 7, serverTLSBootstrap: true });
    for (const comment of before.match(/#.*$/gm) ?? []) expect(text).toContain(comment);
    expect(withoutSettings(text, added, '/c')).toBe(before);
    // A second time there is nothing to add.
    expect(mergeNodeConfig(text, plat, options, '/c')).toEqual({ text, added: [], unchanged: [] });
  });

  test('does not change the installed configuration', async () => {
    const path = join(import.meta.dirname, '..', 'install', 'config.yaml');
    const before = await readFile(path, 'utf8');
    const { text, added } = mergeNodeConfig(before, plat, options, '/c');
    expect(text).toContain('staticPodPath: /etc/nodeagent/manifests');
    expect(withoutSettings(text, added, '/c')).toBe(before);
  });

  test('retains differing settings of the user, and reports them', () => {
    const before = `${HEAD}authentication:\n  x509:\n    clientCAFile: /mine\nreadOnlyPort: 10255\n`;
    const { text, unchanged } = mergeNodeConfig(before, plat, options, '/c');
    expect(unchanged).toEqual([
      { path: 'authentication.x509.clientCAFile', has: '"/mine"', wants: JSON.stringify(AUTHORITY) },
      { path: 'readOnlyPort', has: '10255', wants: '0' },
    ]);
    expect(text).toContain('clientCAFile: /mine');
  });

  test.each([
    ['', 9],
    ['{}', 9],
    ['# nothing\n', 9],
    [`${HEAD}authentication:\n`, 7],
    [`${HEAD}authentication:\n  x509: ~\n`, 7],
  ])('%j counts as empty', async (before, count) => {
    const { text, added } = mergeNodeConfig(before, plat, options, '/c');
    expect(added).toHaveLength(count);
    expect((await read(text)).config.authorization.mode).toBe('Webhook');
  });

  test.each([
    ['a: [', 'is not YAML'],
    ['- a', 'must hold a mapping'],
    ['authentication: on', 'authentication must be a mapping'],
    ['authentication:\n  x509: [1]', 'authentication.x509 must be a mapping'],
  ])('%j is rejected', (before, message) => {
    expect(() => mergeNodeConfig(before, plat, options, '/c')).toThrow(message);
  });
});
