/** Tokens, headers and reviews at random: nothing throws, hangs or is accepted that is not signed or said. */
import { generateKeyPairSync, X509Certificate } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createAuthority, issueIdentity } from '#api/pki/certificate.ts';
import { ofRound } from '../../testing/rounds.ts';
import { isSignedBy, readToken, signToken, tokenKey } from './jwt.ts';
import { tokenError, userOf } from './oidc/claims.ts';
import { sourceOf } from './oidc/distributed-claims.ts';
import { createRequestHeaderAuthenticator } from './request-header.ts';
import { parseClaims, parseKeptClaims } from './service-account/claims.ts';
import { parseReview, TokenReviewError } from './token-webhook/review.ts';

const seed = Number(process.env['TEST_SEED'] ?? Date.now() % 2 ** 31);
const RUNS = { seed, numRuns: ofRound({ short: 100, long: 30_000 }) };
console.log(`authn/hostile: TEST_SEED=${seed}`);

const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
const key = tokenKey(privateKey);
const part = (value: unknown): string => Buffer.from(JSON.stringify(value) ?? '').toString('base64url');
const isText = (value: unknown): boolean => typeof value === 'string';

describe('tokens', () => {
  const signed = signToken({ iss: 'me', sub: 'ann' }, privateKey, key);

  test('with any change are not verified', async () => {
    const token = await signed;
    await fc.assert(
      fc.asyncProperty(
        fc.nat(token.length - 1),
        fc.base64String({ minLength: 1, maxLength: 4 }),
        async (at, piece) => {
          const changed = token.slice(0, at) + piece + token.slice(at + piece.length);
          const read = readToken(changed);
          const [head, body, signature = ''] = changed.split('.');
          const same =
            [head, body].join('.') === token.split('.').slice(0, 2).join('.') &&
            Buffer.from(signature, 'base64url').equals(Buffer.from(token.split('.')[2] ?? '', 'base64url'));
          if (read !== undefined && !same) expect(await isSignedBy(read, [key])).toBe(false);
        },
      ),
      RUNS,
    );
  });

  test('with any header and claims are not verified without a signature', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.jsonValue(),
        fc.jsonValue(),
        fc.base64String(),
        async (header, claims, signature) => {
          const head = typeof header === 'object' ? { alg: key.algorithm, kid: key.id, ...header } : header;
          const read = readToken(`${part(head)}.${part(claims)}.${signature.replace(/[+/=]/g, '')}`);
          if (read !== undefined) expect(await isSignedBy(read, [key])).toBe(false);
        },
      ),
      RUNS,
    );
  });

  test('of any text are read or not, without an error', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
        readToken(text);
        readToken(`${part({})}.${text}.AAAA`);
      }),
      RUNS,
    );
  });
});

describe('claims', () => {
  const NAMES = ['iss', 'aud', 'exp', 'nbf', 'sub', 'email', 'email_verified', 'groups', '_claim_names'];
  const claims = fc.dictionary(
    fc.oneof(fc.constantFrom(...NAMES, '_claim_sources', 'plat.io', '__proto__'), fc.string()),
    fc.jsonValue(),
  );

  test('of any type name a user with texts, or none', () => {
    const mapping = {
      usernamePrefix: '',
      groupsClaim: 'groups',
      groupsPrefix: '',
      requiredClaims: {},
    };
    fc.assert(
      fc.property(claims, fc.constantFrom('sub', 'email'), (all, usernameClaim) => {
        const user = userOf(all, { ...mapping, usernameClaim });
        if ('value' in user) {
          expect(isText(user.value.name) && user.value.name !== '').toBe(true);
          expect(user.value.groups.every(isText)).toBe(true);
        }
        const error = tokenError(all, { issuer: 'https://idp.example', clientId: 'c' }, 0);
        if (error === undefined) expect([all['iss'], all['aud']].flat()).toContain('c');
        const source = sourceOf(all, 'groups');
        if (source.kind === 'endpoint') expect(isText(source.endpoint.url)).toBe(true);
      }),
      RUNS,
    );
  });

  test('of service accounts are complete, or none', () => {
    fc.assert(
      fc.property(claims, (all) => {
        for (const terms of [parseClaims(all, 'plat.io'), parseKeptClaims(all, 'plat.io', [])]) {
          if (terms !== undefined) expect([terms.namespace, terms.account.name]).not.toContain('');
        }
      }),
      RUNS,
    );
  });
});

describe('headers of an authenticating proxy', () => {
  const term = { notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 3_600_000) };
  const ca = createAuthority({ commonName: 'ca' }, term.notBefore, term.notAfter);
  const certificate = new X509Certificate(
    issueIdentity(ca, { subject: { commonName: 'proxy' }, extendedUsages: ['clientAuth'], ...term })
      .certificate,
  );
  const method = createRequestHeaderAuthenticator(() => true, {
    usernameHeaders: ['X-Remote-User', 'X-User'],
    groupHeaders: ['X-Remote-Group'],
    extraPrefixes: ['X-Remote-Extra-'],
    allowedNames: ['proxy'],
  });
  const name = fc.oneof(
    fc.constantFrom('X-Remote-User', 'x-user', 'X-REMOTE-GROUP', 'X-Remote-Extra-', 'x-remote-extra-%zz'),
    fc.string({ minLength: 1 }),
  );

  test('give only the groups and extra values that stand in them, one each', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(name, fc.string({ unit: 'binary-ascii' }))), async (lines) => {
        const rawHeaders = lines.flat();
        const headers: Record<string, string> = {};
        for (const [each, value] of lines) headers[each.toLowerCase()] ??= value;
        const result = await method.authenticate({ headers, rawHeaders, certificate, intermediates: [] });
        if (result.kind !== 'user') return;
        const values = (wanted: string) =>
          lines.flatMap(([each, value]) => (each.toLowerCase() === wanted && value !== '' ? [value] : []));
        expect(values('x-remote-user').concat(values('x-user'))).toContain(result.user.name);
        expect(result.user.groups).toEqual(values('x-remote-group'));
        const extra = lines.filter(([each]) => each.toLowerCase().startsWith('x-remote-extra-'));
        expect(Object.values(result.user.extra).flat().toSorted()).toEqual(
          extra.map(([, value]) => value).toSorted(),
        );
        for (const [each] of extra) expect(result.consumes?.(each.toLowerCase())).toBe(true);
      }),
      RUNS,
    );
  });
});

describe('responses of a token webhook', () => {
  const VERSION = 'authentication.example/v1';
  const value = fc.oneof(fc.jsonValue(), fc.constantFrom(true, 'ann', ['a'], { a: ['b'] }));
  const status = fc.record(
    {
      authenticated: fc.oneof(fc.constant(true), value),
      user: fc.oneof(
        value,
        fc.record({ username: value, uid: value, groups: value, extra: value }, { requiredKeys: [] }),
      ),
      audiences: value,
      error: value,
    },
    { requiredKeys: [] },
  );

  const check = (text: string, said: unknown): void => {
    try {
      const verdict = parseReview(text, VERSION);
      expect(verdict.audiences.every(isText)).toBe(true);
      if (verdict.kind === 'unauthenticated') return void expect(isText(verdict.error)).toBe(true);
      expect(said).toMatchObject({ authenticated: true, user: { username: verdict.user.name } });
      expect(verdict.user.name).not.toBe('');
      expect(verdict.user.groups.every(isText)).toBe(true);
      expect(Object.values(verdict.user.extra).flat().every(isText)).toBe(true);
    } catch (thrown) {
      if (!(thrown instanceof TokenReviewError)) throw thrown;
    }
  };

  test('of any form authenticate a user, or nobody, or are invalid', () => {
    fc.assert(
      fc.property(status, (said) =>
        check(JSON.stringify({ kind: 'TokenReview', apiVersion: VERSION, status: said }), said),
      ),
      RUNS,
    );
  });

  test('of any text are invalid', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
        expect(() => parseReview(text, VERSION)).toThrow(TokenReviewError);
      }),
      RUNS,
    );
  });
});
