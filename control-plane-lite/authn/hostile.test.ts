/** Tokens, headers and reviews at random: nothing throws, hangs or is accepted that is not signed or said. */
import { generateKeyPairSync, X509Certificate } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createAuthority, issueIdentity } from '#api/pki/certificate.ts';
import { ofRound } from '../../testing/rounds.ts';
import { isSignedBy, readToken, signToken, tokenKey } from './jwt.ts';
import { tokenError, userOf } from './oidc/claims.ts';
import { sourceOf } from './oidc/distributed-claims.ts';
import { createRequestHeaderAuthenticator } from './request-header.ts';
import { parseClaims, parseKeptClaims } from './service-account/claims.ts';
import { parseReview, TokenReviewError, type TokenVerdict } from './token-webhook/review.ts';

const seed = Number(process.env['TEST_SEED'] ?? Date.now() % 2 ** 31);
const RUNS = { seed, numRuns: ofRound({ short: 100, long: 30_000 }) };
console.log(`authn/hostile: TEST_SEED=${seed}`);

/** Returns what violates a property; undefined if it holds. */
async function violationOf<T>(property: fc.IRawProperty<T>): Promise<unknown> {
  const { failed, counterexample, errorInstance } = await fc.check(property, RUNS);
  return failed ? { counterexample, errorInstance } : undefined;
}

const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
const key = tokenKey(privateKey);
const part = (value: unknown): string => Buffer.from(JSON.stringify(value) ?? '').toString('base64url');
const isText = (value: unknown): boolean => typeof value === 'string';

describe('tokens', () => {
  const signed = signToken({ iss: 'me', sub: 'ann' }, privateKey, key);

  test('with any change are not verified', async () => {
    const token = await signed;
    expect(
      await violationOf(
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
            return read === undefined || same || !(await isSignedBy(read, [key]));
          },
        ),
      ),
    ).toBeUndefined();
  });

  test('with any header and claims are not verified without a signature', async () => {
    expect(
      await violationOf(
        fc.asyncProperty(
          fc.jsonValue(),
          fc.jsonValue(),
          fc.base64String(),
          async (header, claims, signature) => {
            const head =
              typeof header === 'object' && !Array.isArray(header)
                ? { alg: key.algorithm, kid: key.id, ...header }
                : header;
            const read = readToken(`${part(head)}.${part(claims)}.${signature.replace(/[+/=]/g, '')}`);
            return read === undefined || !(await isSignedBy(read, [key]));
          },
        ),
      ),
    ).toBeUndefined();
  });

  test('of any text are read or not, without an error', async () => {
    expect(
      await violationOf(
        fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
          const tokens = [text, `${part({})}.${text}.AAAA`].map(readToken);
          return tokens.every((token) => token === undefined || typeof token.claims === 'object');
        }),
      ),
    ).toBeUndefined();
  });
});

describe('claims', () => {
  const NAMES = ['iss', 'aud', 'exp', 'nbf', 'sub', 'email', 'email_verified', 'groups', '_claim_names'];
  const claims = fc.dictionary(
    fc.oneof(fc.constantFrom(...NAMES, '_claim_sources', 'example.com', '__proto__'), fc.string()),
    fc.jsonValue(),
  );

  test('of any type name a user with texts, or none', async () => {
    const mapping = {
      usernamePrefix: '',
      groupsClaim: 'groups',
      groupsPrefix: '',
      requiredClaims: {},
    };
    expect(
      await violationOf(
        fc.property(claims, fc.constantFrom('sub', 'email'), (all, usernameClaim) => {
          const user = userOf(all, { ...mapping, usernameClaim });
          const source = sourceOf(all, 'groups');
          const error = tokenError(all, { issuer: 'https://idp.example', clientId: 'c' }, 0);
          return (
            ('error' in user || [user.value.name, ...user.value.groups].every(isText)) &&
            ('error' in user || user.value.name !== '') &&
            (error !== undefined || all['iss'] === 'https://idp.example') &&
            (source.kind !== 'endpoint' || isText(source.endpoint.url))
          );
        }),
      ),
    ).toBeUndefined();
  });

  test('of service accounts are complete, or none', async () => {
    expect(
      await violationOf(
        fc.property(claims, (all) => {
          const terms = [parseClaims(all, 'example.com'), parseKeptClaims(all, 'example.com', [])];
          return terms.every(
            (each) => each === undefined || (each.namespace !== '' && each.account.name !== ''),
          );
        }),
      ),
    ).toBeUndefined();
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
    expect(
      await violationOf(
        fc.asyncProperty(fc.array(fc.tuple(name, fc.string({ unit: 'binary-ascii' }))), async (lines) => {
          const rawHeaders = lines.flat();
          const headers: Record<string, string> = {};
          for (const [each, value] of lines) headers[each.toLowerCase()] ??= value;
          const result = await method.authenticate({ headers, rawHeaders, certificate, intermediates: [] });
          if (result.kind !== 'user') return true;
          const { user, consumes } = result;
          const values = (wanted: string) =>
            lines.flatMap(([each, value]) => (each.toLowerCase() === wanted && value !== '' ? [value] : []));
          const extra = lines.filter(([each]) => each.toLowerCase().startsWith('x-remote-extra-'));
          return (
            [...values('x-remote-user'), ...values('x-user')].includes(user.name) &&
            isDeepStrictEqual(user.groups, values('x-remote-group')) &&
            isDeepStrictEqual(
              Object.values(user.extra).flat().toSorted(),
              extra.map(([, value]) => value).toSorted(),
            ) &&
            extra.every(([each]) => consumes?.(each.toLowerCase()) === true)
          );
        }),
      ),
    ).toBeUndefined();
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

  /** The verdict on a text; undefined if it is invalid. */
  function verdictOf(text: string): TokenVerdict | undefined {
    try {
      return parseReview(text, VERSION);
    } catch (thrown) {
      if (thrown instanceof TokenReviewError) return undefined;
      throw thrown;
    }
  }

  function isSound(verdict: TokenVerdict, said: Readonly<Record<string, unknown>>): boolean {
    if (!verdict.audiences.every(isText)) return false;
    if (verdict.kind === 'unauthenticated') return isText(verdict.error);
    const { name, groups, extra } = verdict.user;
    const texts = [name, ...groups, ...Object.values(extra).flat()];
    return said['authenticated'] === true && name !== '' && texts.every(isText);
  }

  test('of any form authenticate a user, or nobody, or are invalid', async () => {
    expect(
      await violationOf(
        fc.property(status, (said) => {
          const verdict = verdictOf(
            JSON.stringify({ kind: 'TokenReview', apiVersion: VERSION, status: said }),
          );
          return verdict === undefined || isSound(verdict, said);
        }),
      ),
    ).toBeUndefined();
  });

  test('of any text are invalid', async () => {
    expect(
      await violationOf(
        fc.property(fc.oneof(fc.string(), fc.json()), (text) => verdictOf(text) === undefined),
      ),
    ).toBeUndefined();
  });
});
