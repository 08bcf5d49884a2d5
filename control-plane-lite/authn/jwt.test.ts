import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { isSignedBy, JwtError, readToken, signToken, type TokenKey, tokenKey } from './jwt.ts';

const ec = (namedCurve: string) => generateKeyPairSync('ec', { namedCurve }).privateKey;
const EC = ec('prime256v1');
const RSA = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;

/** Whether the text is a token that one of the keys signed. */
async function isGood(text: string, ...keys: readonly TokenKey[]): Promise<boolean> {
  const token = readToken(text);
  return token !== undefined && isSignedBy(token, keys);
}

describe('tokens', () => {
  test.each([
    ['ES256', EC],
    ['ES384', ec('secp384r1')],
    ['ES512', ec('secp521r1')],
    ['RS256', RSA],
  ])('signed with %s are verified with that key only', async (algorithm, privateKey) => {
    const key = tokenKey(privateKey);
    expect(key.algorithm).toBe(algorithm);
    const text = await signToken({ sub: 'me' }, privateKey, key);
    expect(readToken(text)).toMatchObject({
      claims: { sub: 'me' },
      header: { alg: algorithm, kid: key.id },
    });
    const others = [EC, RSA].filter((each) => each !== privateKey).map(tokenKey);
    expect(await isGood(text, ...others, key)).toBe(true);
    expect(await isGood(text, ...others)).toBe(false);
    expect(await isGood(text)).toBe(false);
  });

  test('with one letter changed are not verified', async () => {
    const key = tokenKey(EC);
    const [head = '', body = '', signature = ''] = (await signToken({ sub: 'me' }, EC, key)).split('.');
    const other = Buffer.from(JSON.stringify({ sub: 'you' })).toString('base64url');
    expect(await isGood(`${head}.${body}.${signature}`, key)).toBe(true);
    expect(await isGood(`${head}.${other}.${signature}`, key)).toBe(false);
    expect(await isGood(`${head}.${body}.${signature.slice(0, -4)}AAAA`, key)).toBe(false);
  });

  test.each(['none', 'HS256', 'RS256', undefined, 1])(
    'with the algorithm %j are not verified',
    async (alg) => {
      const key = tokenKey(EC);
      const [, body = '', signature = ''] = (await signToken({ sub: 'me' }, EC, key)).split('.');
      const head = Buffer.from(JSON.stringify({ alg, kid: key.id })).toString('base64url');
      expect(await isGood(`${head}.${body}.${signature}`, key)).toBe(false);
    },
  );

  test.each(['', 'a', 'a.b', 'a.b.c', '..', 'e30.e30', 'e30.W10.AA', `e30.e30.${'A'.repeat(20_000)}`])(
    '%.20j is none',
    (text) => expect(readToken(text)).toBeUndefined(),
  );

  test('are not signed with keys of other kinds', () => {
    const weak = generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey;
    const other = generateKeyPairSync('ed25519').privateKey;
    for (const key of [weak, other]) expect(() => tokenKey(key)).toThrow(JwtError);
  });
});
