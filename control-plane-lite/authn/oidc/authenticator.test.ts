/** ID tokens of every algorithm, changes of keys, outages and distributed claims, with calls and verifications counted.
 *  The provider is simulated, because a real one cannot fail on demand. */
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { CompactSign } from 'jose';
import { describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import type { AuthenticationResult } from '../contract.ts';
import { SIGNING_ALGORITHMS } from './algorithms.ts';
import { createOidcAuthenticator } from './authenticator.ts';
import type { ClaimMapping } from './claims.ts';

const ISSUER = 'https://idp.example';
const CURVES: Readonly<Record<string, string>> = { ES256: 'P-256', ES384: 'P-384', ES512: 'P-521' };

interface Key {
  readonly alg: string;
  readonly kid: string | undefined;
  readonly privateKey: KeyObject;
}

const RSA = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
const keyOf = (alg: string, kid?: string): Key => ({
  alg,
  kid,
  privateKey: alg.startsWith('ES')
    ? generateKeyPairSync('ec', { namedCurve: CURVES[alg] ?? '' }).privateKey
    : RSA,
});
const jwk = ({ alg, kid, privateKey }: Key): object => {
  const { kty, crv, x, y, n, e } = privateKey.export({ format: 'jwk' });
  return { kty, crv, x, y, n, e, alg, use: 'sig', ...(kid === undefined ? {} : { kid }) };
};

function setUp(changes: Partial<ClaimMapping> = {}, algorithms: readonly string[] = SIGNING_ALGORITHMS) {
  const clock = createFakeClock(1_800_000_000_000);
  const calls: string[] = [];
  const tokens: (string | undefined)[] = [];
  const pages = new Map<string, string>();
  const seen = { verifications: 0 };
  const problems: string[] = [];
  const ended = new AbortController();
  const publish = (issuer: string, ...keys: readonly Key[]): void => {
    pages.set(
      `${issuer}/.well-known/openid-configuration`,
      JSON.stringify({ issuer, jwks_uri: `${issuer}/keys` }),
    );
    pages.set(`${issuer}/keys`, JSON.stringify({ keys: keys.map(jwk) }));
  };
  const begin = () =>
    createOidcAuthenticator(
      {
        clock,
        log: {
          info: () => undefined,
          warn: ({ err }: object & { err?: unknown }) => problems.push(String(err)),
        },
        signal: ended.signal,
        clientId: 'cluster',
        algorithms,
        verifications: {
          run(_, task) {
            seen.verifications += 1;
            return task();
          },
        },
        calls: { run: (_, task) => task() },
        http: {
          async get(url, bearerToken) {
            calls.push(url);
            tokens.push(bearerToken);
            const page = pages.get(url);
            if (page === undefined) throw new Error(`${url} is down`);
            return page;
          },
        },
      },
      ISSUER,
      {
        usernameClaim: 'sub',
        usernamePrefix: '',
        groupsClaim: 'groups',
        groupsPrefix: '',
        requiredClaims: {},
        ...changes,
      },
    );
  const sign = (key: Key, more: object = {}): Promise<string> =>
    new CompactSign(
      Buffer.from(
        JSON.stringify({ iss: ISSUER, aud: 'cluster', exp: clock.now() / 1000 + 60, sub: 'ann', ...more }),
      ),
    )
      .setProtectedHeader({ alg: key.alg, ...(key.kid === undefined ? {} : { kid: key.kid }) })
      .sign(key.privateKey);
  return { clock, calls, tokens, pages, seen, problems, publish, begin, sign, ended };
}

type Started = ReturnType<ReturnType<typeof setUp>['begin']>;
const ask = async (method: Started, bearerToken: string): Promise<AuthenticationResult> =>
  method.authenticate({ headers: {}, intermediates: [], bearerToken });
const ANN = { kind: 'user', user: { name: 'ann' } };
const rejectedFor = (message: string) => ({
  kind: 'rejected',
  message: expect.stringContaining(message) as string,
});

describe('signatures of ID tokens', () => {
  test.each(SIGNING_ALGORITHMS)('with %s are accepted, unless the algorithm is not', async (alg) => {
    const key = keyOf(alg, 'k');
    for (const [algorithms, expected] of [
      [SIGNING_ALGORITHMS, ANN],
      [SIGNING_ALGORITHMS.filter((each) => each !== alg), rejectedFor('failed to verify id token signature')],
    ] as const) {
      const { publish, begin, sign, ended } = setUp({}, algorithms);
      publish(ISSUER, key);
      const method = begin();
      expect(await ask(method, await sign(key))).toMatchObject(expected);
      ended.abort();
    }
  });

  test('without key ID are verified with every key that fits', async () => {
    const { publish, begin, sign, ended } = setUp();
    const keys = [keyOf('ES256'), keyOf('ES256'), keyOf('ES256')];
    publish(ISSUER, ...keys);
    const method = begin();
    for (const key of keys) expect(await ask(method, await sign(key))).toMatchObject(ANN);
    expect(await ask(method, await sign(keyOf('ES256')))).toMatchObject(rejectedFor('failed to verify'));
    ended.abort();
  });

  test.each(['none', 'HS256', 'EdDSA', undefined])('with %s are rejected', async (alg) => {
    const { publish, begin, sign, ended } = setUp();
    const key = keyOf('ES256', 'k');
    publish(ISSUER, key);
    const method = begin();
    const [, body = '', signature = ''] = (await sign(key)).split('.');
    const header = Buffer.from(JSON.stringify({ alg, kid: 'k' })).toString('base64url');
    expect(await ask(method, `${header}.${body}.${signature}`)).toMatchObject({ kind: 'rejected' });
    ended.abort();
  });
});

describe('keys of the provider', () => {
  test('are loaded once, and again for unknown ones, at most every ten seconds', async () => {
    const { publish, begin, sign, calls, clock, ended } = setUp();
    const [first, second, unknown] = [keyOf('ES256', 'a'), keyOf('ES256', 'b'), keyOf('ES256', 'c')];
    publish(ISSUER, first);
    const method = begin();
    for (let round = 0; round < 10; round += 1) await ask(method, await sign(first, { round }));
    expect(calls).toEqual([`${ISSUER}/.well-known/openid-configuration`, `${ISSUER}/keys`]);
    publish(ISSUER, second);
    await clock.advance(10_000);
    expect(await ask(method, await sign(second))).toMatchObject(ANN);
    expect(await ask(method, await sign(first))).toMatchObject({ kind: 'rejected' });
    const before = calls.length;
    for (let minute = 0; minute < 60; minute += 1) {
      for (let index = 0; index < 5; index += 1) await ask(method, await sign(unknown, { index, minute }));
      await clock.advance(1000);
    }
    expect(calls.length - before).toBeLessThanOrEqual(6);
    ended.abort();
  });

  test('remain in use while the provider is down', async () => {
    const { publish, begin, sign, pages, clock, ended } = setUp();
    const key = keyOf('ES256', 'a');
    publish(ISSUER, key);
    const method = begin();
    expect(await ask(method, await sign(key))).toMatchObject(ANN);
    pages.clear();
    await clock.advance(3_600_000);
    expect(await ask(method, await sign(keyOf('ES256', 'b')))).toMatchObject({ transient: true });
    expect(await ask(method, await sign(key))).toMatchObject(ANN);
    ended.abort();
  });
});

describe('a provider', () => {
  test('that is down at the start is discovered later, without a token', async () => {
    const { publish, begin, sign, calls, clock, ended } = setUp();
    const key = keyOf('ES256', 'a');
    const method = begin();
    expect(await ask(method, await sign(key))).toMatchObject({ kind: 'rejected', transient: true });
    await clock.advance(60_000);
    expect(calls.length).toBeLessThanOrEqual(7);
    publish(ISSUER, key);
    await clock.advance(10_000);
    const before = calls.length;
    expect(await ask(method, await sign(key))).toMatchObject(ANN);
    expect(calls.length).toBe(before);
    ended.abort();
  });

  test.each([
    ['names another issuer', { issuer: `${ISSUER}/`, jwks_uri: `${ISSUER}/keys` }, 'issuer did not match'],
    ['names no keys', { issuer: ISSUER }, 'has no jwks_uri'],
    ['has keys that are none', { issuer: ISSUER, jwks_uri: `${ISSUER}/broken` }, 'is not a set of keys'],
    ['sends a list', [], 'is not an object'],
  ])('that %s is not trusted', async (_, configuration, reason) => {
    const { publish, pages, begin, sign, ended, clock, problems } = setUp();
    const key = keyOf('ES256', 'a');
    publish(ISSUER, key);
    pages.set(`${ISSUER}/.well-known/openid-configuration`, JSON.stringify(configuration));
    pages.set(`${ISSUER}/broken`, '{"keys":{}}');
    const method = begin();
    expect(await ask(method, await sign(key))).toMatchObject({ kind: 'rejected' });
    await clock.advance(10_000);
    expect(problems.length).toBeGreaterThan(0);
    for (const problem of problems) expect(problem).toContain(reason);
    ended.abort();
  });

  test('is not concerned with tokens of others', async () => {
    const { publish, begin, sign, seen, ended } = setUp();
    const key = keyOf('ES256', 'a');
    publish(ISSUER, key);
    const method = begin();
    for (const token of ['opaque', 'a.b.c', await sign(key, { iss: 'https://other.example' })]) {
      expect(await ask(method, token)).toEqual({ kind: 'none' });
    }
    expect(seen.verifications).toBe(0);
    ended.abort();
  });
});

describe('distributed groups', () => {
  const OTHER = 'https://groups.example';
  const ENDPOINT = `${OTHER}/groups`;
  const sources = (source: object) => ({
    _claim_names: { groups: 'src' },
    _claim_sources: { src: source },
  });

  async function outcome(token: object, page?: object, accessToken?: string) {
    const { publish, begin, sign, pages, tokens, calls, ended } = setUp();
    const [main, other] = [keyOf('ES256', 'a'), keyOf('ES256', 'b')];
    publish(ISSUER, main);
    publish(OTHER, other);
    if (page !== undefined) pages.set(ENDPOINT, await sign(other, { iss: OTHER, ...page }));
    const result = await ask(begin(), await sign(main, token));
    ended.abort();
    const at = calls.indexOf(ENDPOINT);
    expect(at < 0 ? undefined : tokens[at]).toBe(accessToken);
    return result;
  }

  test('are fetched with the access token, verified, and become groups', async () => {
    const source = { endpoint: ENDPOINT, access_token: 'of-ann' };
    expect(await outcome(sources(source), { groups: ['dev'] }, 'of-ann')).toMatchObject({
      kind: 'user',
      user: { name: 'ann', groups: ['dev'] },
    });
  });

  test.each([
    [
      'are not fetched if the token has groups',
      { ...sources({ endpoint: ENDPOINT }), groups: ['own'] },
      ['own'],
    ],
    ['of another claim', { _claim_names: { roles: 'src' }, _claim_sources: {} }, []],
    ['that are aggregated', sources({ JWT: 'x' }), []],
  ])('%s', async (_, token, groups) => {
    expect(await outcome(token)).toMatchObject({ kind: 'user', user: { groups } });
  });

  test.each([
    ['an unreachable endpoint', sources({ endpoint: ENDPOINT }), undefined, 'is down'],
    ['a missing source', { _claim_names: { groups: 'x' }, _claim_sources: {} }, undefined, 'missing in'],
    ['no sources', { _claim_names: { groups: 'x' } }, undefined, 'no claim sources'],
    ['names that are none', { _claim_names: 'x' }, undefined, 'claim names'],
    [
      'a source named like a member',
      { _claim_names: { groups: 'toString' }, _claim_sources: {} },
      undefined,
      'missing in',
    ],
    ['a token without the claim', sources({ endpoint: ENDPOINT }), {}, 'does not contain the claim'],
    ['an expired token', sources({ endpoint: ENDPOINT }), { groups: [], exp: 1 }, 'token is expired'],
    [
      'a token for another client',
      sources({ endpoint: ENDPOINT }),
      { groups: [], aud: 'x' },
      'expected audience',
    ],
    [
      'a token of another issuer',
      sources({ endpoint: ENDPOINT }),
      { groups: [], iss: ISSUER },
      'failed to verify',
    ],
  ])('fail with %s', async (_, token, page, reason) => {
    expect(await outcome(token, page)).toMatchObject(rejectedFor(reason));
  });
});
