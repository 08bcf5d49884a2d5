import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import type { ApiObject } from '../../resources/contract.ts';
import { createAccountTokenAuthenticator } from './authenticator.ts';
import { claimsOf, type TokenTerms } from './claims.ts';
import { createTokenIssuer } from './issuer.ts';
import { JwtError, readToken, signToken, tokenKey } from './jwt.ts';

const EC = generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).privateKey;
const RSA = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
const DOMAIN = 'words.example';
const ISSUER = 'https://api.example';

describe('tokens', () => {
  test.each([
    ['P-256', EC],
    ['RSA', RSA],
  ])('signed with %s are verified with that key only', (_, privateKey) => {
    const key = tokenKey(privateKey);
    const token = readToken(signToken({ sub: 'me' }, privateKey, key));
    expect(token?.claims).toEqual({ sub: 'me' });
    expect(token?.verify([key])).toBe(true);
    expect(token?.verify([tokenKey(privateKey === EC ? RSA : EC)])).toBe(false);
  });

  test('with one letter changed are not verified', () => {
    const key = tokenKey(EC);
    const text = signToken({ sub: 'me' }, EC, key);
    const [head = '', body = '', signature = ''] = text.split('.');
    const other = Buffer.from(JSON.stringify({ sub: 'you' })).toString('base64url');
    expect(readToken(`${head}.${other}.${signature}`)?.verify([key])).toBe(false);
    expect(readToken(`${head}.${body}.${signature.slice(0, -4)}AAAA`)?.verify([key])).toBe(false);
  });

  test.each(['none', 'HS256', 'RS256', undefined])('with the algorithm %j are not verified', (alg) => {
    const key = tokenKey(EC);
    const [, body = '', signature = ''] = signToken({ sub: 'me' }, EC, key).split('.');
    const head = Buffer.from(JSON.stringify({ alg, kid: key.id })).toString('base64url');
    expect(readToken(`${head}.${body}.${signature}`)?.verify([key])).toBe(false);
  });

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

const account = (changes: object = {}): ApiObject => ({
  kind: 'ServiceAccount',
  apiVersion: 'v1',
  metadata: { name: 'robot', namespace: 'n', uid: 'u1', ...changes },
});
const pod = (changes: object = {}): ApiObject => ({
  kind: 'Pod',
  apiVersion: 'v1',
  metadata: { name: 'p', namespace: 'n', uid: 'u2', ...changes },
});

function setUp(objects: readonly ApiObject[], signer: KeyObject = EC) {
  const clock = createFakeClock(1_000_000_000_000);
  const key = tokenKey(signer);
  const issuer = createTokenIssuer({
    privateKey: signer,
    key,
    issuer: ISSUER,
    storedIssuer: 'stored',
    audiences: ['api'],
    domain: DOMAIN,
  });
  const held = [...objects];
  const authenticator = createAccountTokenAuthenticator({
    clock,
    keys: [tokenKey(EC)],
    issuers: [ISSUER],
    storedIssuer: 'stored',
    audiences: ['api'],
    domain: DOMAIN,
    find: (kind, namespace, name) =>
      held.find(
        (object) =>
          object.kind === kind && object.metadata.namespace === namespace && object.metadata.name === name,
      ),
  });
  const bound = { kind: 'Pod', name: 'p', uid: 'u2' } as const;
  const subject = { namespace: 'n', account: { name: 'robot', uid: 'u1' }, bound };
  const issue = (audiences: readonly string[] = ['api']): string =>
    issuer.issue(subject, audiences, clock.now(), 600).token;
  const authenticate = (bearerToken: string, audiences?: readonly string[]) =>
    authenticator.authenticate({
      headers: {},
      intermediates: [],
      bearerToken,
      ...(audiences === undefined ? {} : { audiences }),
    });
  const issueStored = (secret: string): string =>
    issuer.issueStored({ namespace: 'n', account: subject.account, secret });
  return { clock, issue, issueStored, authenticate, held };
}

describe('service accounts', () => {
  test('are let in under their name, with their groups and their pod', () => {
    const { issue, authenticate } = setUp([account(), pod()]);
    expect(authenticate(issue())).toEqual({
      kind: 'user',
      user: {
        name: 'system:serviceaccount:n:robot',
        uid: 'u1',
        groups: ['system:serviceaccounts', 'system:serviceaccounts:n'],
        extra: {
          [`authentication.${DOMAIN}/pod-name`]: ['p'],
          [`authentication.${DOMAIN}/pod-uid`]: ['u2'],
        },
      },
      audiences: ['api'],
    });
  });

  test('have the audiences that both sides name', () => {
    const { issue, authenticate } = setUp([account(), pod()]);
    expect(authenticate(issue(['api', 'vault', 'x']), ['vault', 'x', 'y'])).toMatchObject({
      audiences: ['vault', 'x'],
    });
    expect(authenticate(issue(['vault']))).toMatchObject({ kind: 'rejected' });
  });

  test('end with their time, also when the token was seen before', async () => {
    const { issue, authenticate, clock } = setUp([account(), pod()]);
    const token = issue();
    await clock.advance(599_000);
    expect(authenticate(token)).toMatchObject({ kind: 'user' });
    await clock.advance(1_000);
    expect(authenticate(token)).toEqual({
      kind: 'rejected',
      message: 'the service account token has expired',
    });
  });

  test.each([
    ['the account', [pod()]],
    ['the same account', [account({ uid: 'other' }), pod()]],
    ['the pod', [account()]],
    ['the same pod', [account(), pod({ uid: 'other' })]],
    ['a pod that is not long ended', [account(), pod({ deletionTimestamp: '2001-09-09T01:40:00Z' })]],
  ])('need %s', (_, objects) => {
    const { issue, authenticate, held } = setUp([account(), pod()]);
    const token = issue();
    expect(authenticate(token)).toMatchObject({ kind: 'user' });
    held.splice(0, held.length, ...objects);
    expect(authenticate(token)).toMatchObject({ kind: 'rejected' });
  });

  test('live on while their pod ends', () => {
    const { issue, authenticate } = setUp([account(), pod({ deletionTimestamp: '2001-09-09T01:46:00Z' })]);
    expect(authenticate(issue())).toMatchObject({ kind: 'user' });
  });

  test('need a signature of ours', () => {
    const { issue, authenticate } = setUp([account(), pod()], RSA);
    expect(authenticate(issue())).toMatchObject({ kind: 'rejected' });
  });

  test('of other issuers, and texts that are no token, are left to other methods', () => {
    const { authenticate } = setUp([account(), pod()]);
    expect(authenticate('secret')).toEqual({ kind: 'none' });
    expect(authenticate(signToken({ iss: 'https://elsewhere' }, EC, tokenKey(EC)))).toEqual({ kind: 'none' });
  });

  test('are the same user at the second authentication', () => {
    const { authenticate } = setUp([account(), pod()]);
    const terms: TokenTerms = {
      namespace: 'n',
      account: { name: 'robot', uid: 'u1' },
      bound: undefined,
      issuer: ISSUER,
      audiences: ['api'],
      issuedSeconds: 0,
      expiresSeconds: 2_000_000_000,
    };
    const claims = claimsOf(terms, DOMAIN);
    expect(authenticate(signToken(claims, EC, tokenKey(EC)))).toMatchObject({ kind: 'user' });
    const forged = { ...claims, sub: 'system:serviceaccount:n:admin' };
    expect(authenticate(signToken(forged, EC, tokenKey(EC)))).toMatchObject({ kind: 'rejected' });
  });
});

describe('tokens that are stored in secrets', () => {
  const secret = (token: string): ApiObject => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 's', namespace: 'n' },
    data: { token: Buffer.from(token).toString('base64') },
  });

  test('let the account in for as long as the secret holds them', async () => {
    const { issueStored, authenticate, held, clock } = setUp([account()]);
    const token = issueStored('s');
    expect(authenticate(token)).toMatchObject({ kind: 'rejected' });
    held.push(secret(token));
    await clock.advance(1e12);
    expect(authenticate(token)).toMatchObject({
      kind: 'user',
      user: { name: 'system:serviceaccount:n:robot' },
    });
    held[1] = secret('another');
    expect(authenticate(token)).toMatchObject({ kind: 'rejected' });
  });

  test('are for the server alone, and end with the account', () => {
    const { issueStored, authenticate, held } = setUp([account()]);
    const token = issueStored('s');
    held.push(secret(token));
    expect(authenticate(token, ['vault'])).toMatchObject({ kind: 'rejected' });
    held.shift();
    expect(authenticate(token)).toMatchObject({ kind: 'rejected' });
  });
});
