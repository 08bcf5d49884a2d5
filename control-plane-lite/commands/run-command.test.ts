import { describe, expect, test } from 'vitest';
import { createAuthority } from '#api/pki/certificate.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { parseServerCommand, type ServerCommand } from './run-command.ts';
import { formatTable } from './table.ts';
import { authorityHash, tokenSecret } from './token.ts';

describe('parseServerCommand', () => {
  test.each<[ServerCommand, string, object]>([
    ['token', 'create', { action: 'create', names: [], ttlMs: 86_400_000, groups: [] }],
    ['token', 'create 012345.0123456789012345 --ttl 0', { names: ['012345.0123456789012345'], ttlMs: 0 }],
    ['token', 'create --groups a,b --description=x', { groups: ['a', 'b'], description: 'x' }],
    ['token', 'list --data-dir /d', { action: 'list', dataDir: '/d' }],
    ['token', 'delete 000123', { action: 'delete', names: ['000123'] }],
    ['csr', 'list', { action: 'list' }],
    ['csr', 'approve a b', { action: 'approve', names: ['a', 'b'] }],
    ['csr', 'deny a', { action: 'deny', names: ['a'] }],
  ])('%s %s', (command, words, expected) => {
    expect(parseServerCommand(command, words.split(' '))).toMatchObject(expected);
  });

  test.each<[ServerCommand, string]>([
    ['token', ''],
    ['token', 'make'],
    ['token', 'delete'],
    ['token', 'approve a'],
    ['token', 'create a b'],
    ['token', 'create --ttl soon'],
    ['token', 'create --ttl=-1h'],
    ['token', 'list a'],
    ['token', 'list --ttl 1h'],
    ['csr', 'create'],
    ['csr', 'approve'],
    ['csr', 'delete a'],
    ['csr', 'approve a --force'],
  ])('rejects %s %s', (command, words) => {
    const parse = (): object => parseServerCommand(command, words.split(' '));
    expect(parse).toThrow(expect.objectContaining({ name: 'ConfigError' }));
  });
});

test('a Secret has everything of a token', () => {
  const wanted = { token: 'abcdef.0123456789abcdef', ttlMs: 60_000, description: 'd', groups: ['g'] };
  expect(tokenSecret(wanted, VOCABULARIES.plat, 0)).toMatchObject({
    metadata: { name: 'bootstrap-token-abcdef' },
    type: VOCABULARIES.plat.secretTypeBootstrapToken,
    stringData: {
      'token-id': 'abcdef',
      'token-secret': '0123456789abcdef',
      expiration: '1970-01-01T00:01:00Z',
      description: 'd',
      'auth-extra-groups': 'system:bootstrappers:nodes,g',
    },
  });
  expect(tokenSecret({ ...wanted, ttlMs: 0 }, VOCABULARIES.plat, 0)).not.toHaveProperty(
    'stringData.expiration',
  );
});

test('the hash is of the key, so that a renewed authority has the same', () => {
  const { certificate } = createAuthority({ commonName: 'a' }, new Date(0), new Date(1e12));
  expect(authorityHash(certificate)).toMatch(/^sha256:[0-9a-f]{64}$/);
});

test('tables have even columns', () => {
  expect(
    formatTable([
      ['A', 'BB'],
      ['ccc', ''],
    ]),
  ).toBe('A     BB\nccc');
});
