import { describe, expect, test } from 'vitest';
import { parseAuthorityHash, parseJoinToken, parseServerAddress } from './token.ts';

const DIGITS = 'ab'.repeat(32);

describe('parseServerAddress', () => {
  test.each([
    ['https://10.0.0.1:6443', 'https://10.0.0.1:6443'],
    ['https://api.example.org', 'https://api.example.org:6443'],
    ['https://api.example.org:443', 'https://api.example.org:443'],
    ['https://api.example.org/some/path/', 'https://api.example.org:6443/some/path'],
    ['api.example.org', 'https://api.example.org:6443'],
    ['10.0.0.1:7443', 'https://10.0.0.1:7443'],
    ['[fd00::1]:7443', 'https://[fd00::1]:7443'],
    ['https://[fd00::1]', 'https://[fd00::1]:6443'],
  ])('%s', (text, expected) => {
    expect(parseServerAddress(text)).toBe(expected);
  });

  test.each(['', 'http://a:1', 'https://', 'https://user:secret@a', 'https://a?b', 'https://a#b', 'a b'])(
    'rejects %j',
    (text) => {
      expect(() => parseServerAddress(text)).toThrow('is not a server address');
    },
  );
});

describe('parseJoinToken', () => {
  test('has two parts', () => {
    const text = 'abc123.0123456789abcdef';
    expect(parseJoinToken(text)).toEqual({ id: 'abc123', secret: '0123456789abcdef', text });
  });

  test.each(['', 'abc123', 'ABC123.0123456789abcdef', 'abc123.0123456789abcde', 'abc123.0123456789abcdef\n'])(
    'rejects %j, and does not quote it',
    (text) => {
      expect(() => parseJoinToken(text)).toThrow(
        /^--token: invalid format: must be six characters, a dot and sixteen characters of a-z and 0-9$/,
      );
    },
  );
});

describe('parseAuthorityHash', () => {
  test('is in lower case', () => {
    expect(parseAuthorityHash(`SHA256:${DIGITS.toUpperCase()}`)).toBe(`sha256:${DIGITS}`);
  });

  test.each(['', DIGITS, `sha1:${DIGITS}`, `sha256:${DIGITS}0`, 'sha256:xy'])('rejects %j', (text) => {
    expect(() => parseAuthorityHash(text)).toThrow('--ca-cert-hash: invalid value');
  });
});
