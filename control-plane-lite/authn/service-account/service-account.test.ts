import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import type { ApiObject } from '../../resources/contract.ts';
import { signToken, type TokenKey, tokenKey } from '../jwt.ts';
import { createAccountTokenAuthenticator } from './authenticator.ts';
import { claimsOf, type TokenTerms } from './claims.ts';
import { createTokenIssuer } from './issuer.ts';

const EC = generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).privateKey;
const RSA = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
const DOMAIN = 'words.example';
const ISSUER = 'https://api.example';

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
    signingKey: () => ({ privateKey: signer, key }),
    issuer: ISSUER,
    storedIssuer: 'stored',
    audiences: ['api'],
    domain: DOMAIN,
  });
  const held = [...objects];
  const seen = { verifications: 0, legacy: 0, valid: 0, stale: 0 };
  const trusted: { keys: readonly TokenKey[] } = { keys: [tokenKey(EC)] };
  const authenticator = createAccountTokenAuthenticator({
    clock,
    keys: () => trusted.keys,
    verifications: {
      run(_, task) {
        seen.verifications += 1;
        return task();
      },
    },
    counts: {
      legacy: () => (seen.legacy += 1),
      valid: () => (seen.valid += 1),
      stale: () => (seen.stale += 1),
    },
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
  const issue = async (
    audiences: readonly string[] = ['api'],
    term: { seconds: number; warnAfterSeconds?: number } = { seconds: 600 },
  ): Promise<string> => (await issuer.issue(subject, audiences, { nowMs: clock.now(), ...term })).token;
  const authenticate = async (bearerToken: string | Promise<string>, audiences?: readonly string[]) =>
    authenticator.authenticate({
      headers: {},
      intermediates: [],
      bearerToken: await bearerToken,
      ...(audiences === undefined ? {} : { audiences }),
    });
  const issueStored = (secret: string): Promise<string> =>
    issuer.issueStored({ namespace: 'n', account: subject.account, secret });
  return { clock, issue, issueStored, authenticate, held, seen, trusted };
}

describe('service accounts', () => {
  test('are authenticated under their name, with their groups and their pod', async () => {
    const { issue, authenticate } = setUp([account(), pod()]);
    expect(await authenticate(issue())).toEqual({
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

  test('have the audiences that both sides name', async () => {
    const { issue, authenticate } = setUp([account(), pod()]);
    expect(await authenticate(issue(['api', 'vault', 'x']), ['vault', 'x', 'y'])).toMatchObject({
      audiences: ['vault', 'x'],
    });
    expect(await authenticate(issue(['vault']))).toMatchObject({ kind: 'rejected' });
  });

  test('end with their time, also when the token was seen before', async () => {
    const { issue, authenticate, clock } = setUp([account(), pod()]);
    const token = await issue();
    await clock.advance(599_000);
    expect(await authenticate(token)).toMatchObject({ kind: 'user' });
    await clock.advance(1_000);
    expect(await authenticate(token)).toEqual({
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
  ])('need %s', async (_, objects) => {
    const { issue, authenticate, held } = setUp([account(), pod()]);
    const token = await issue();
    expect(await authenticate(token)).toMatchObject({ kind: 'user' });
    held.splice(0, held.length, ...objects);
    expect(await authenticate(token)).toMatchObject({ kind: 'rejected' });
  });

  test('live on while their pod ends', async () => {
    const { issue, authenticate } = setUp([account(), pod({ deletionTimestamp: '2001-09-09T01:46:00Z' })]);
    expect(await authenticate(issue())).toMatchObject({ kind: 'user' });
  });

  test('need a signature of ours', async () => {
    const { issue, authenticate } = setUp([account(), pod()], RSA);
    expect(await authenticate(issue())).toMatchObject({ kind: 'rejected' });
  });

  test('of other issuers, and texts that are no token, are left to other methods', async () => {
    const { authenticate } = setUp([account(), pod()]);
    expect(await authenticate('secret')).toEqual({ kind: 'none' });
    expect(await authenticate(signToken({ iss: 'https://elsewhere' }, EC, tokenKey(EC)))).toEqual({
      kind: 'none',
    });
  });

  test('are the same user at the second authentication', async () => {
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
    expect(await authenticate(signToken(claims, EC, tokenKey(EC)))).toMatchObject({ kind: 'user' });
    const forged = { ...claims, sub: 'system:serviceaccount:n:admin' };
    expect(await authenticate(signToken(forged, EC, tokenKey(EC)))).toMatchObject({ kind: 'rejected' });
  });
});

describe('verification of signatures', () => {
  test('is done once for each token, good or bad', async () => {
    const { issue, authenticate, seen } = setUp([account(), pod()]);
    const token = await issue();
    const forged = `${token.slice(0, -8)}AAAAAAAA`;
    for (let round = 0; round < 5; round += 1) {
      expect(await authenticate(token)).toMatchObject({ kind: 'user' });
      expect(await authenticate(forged)).toMatchObject({ kind: 'rejected' });
    }
    expect(seen.verifications).toBe(2);
  });

  test('does not let a flood of bad tokens evict a good one', async () => {
    const { issue, authenticate, seen } = setUp([account(), pod()]);
    const token = await issue();
    await authenticate(token);
    const [head = '', body = ''] = token.split('.');
    for (let index = 0; index < 3000; index += 1)
      await authenticate(`${head}.${body}.${'A'.repeat(80)}${index}`);
    const before = seen.verifications;
    expect(await authenticate(token)).toMatchObject({ kind: 'user' });
    expect(seen.verifications).toBe(before);
  });

  test('follows the keys: an added one counts at once, a removed one no more', async () => {
    const { issue, authenticate, trusted } = setUp([account(), pod()], RSA);
    const token = await issue();
    expect(await authenticate(token)).toMatchObject({ kind: 'rejected' });
    trusted.keys = [tokenKey(EC), tokenKey(RSA)];
    expect(await authenticate(token)).toMatchObject({ kind: 'user' });
    trusted.keys = [tokenKey(EC)];
    expect(await authenticate(token)).toMatchObject({ kind: 'rejected' });
  });
});

describe('tokens with an extended validity', () => {
  test('are good for all of it, and reported after the requested one', async () => {
    const { issue, authenticate, clock, seen } = setUp([account(), pod()]);
    const token = await issue(['api'], { seconds: 31_536_000, warnAfterSeconds: 3607 });
    expect(await authenticate(token)).not.toHaveProperty('annotations');
    await clock.advance(3_617_000);
    expect(await authenticate(token)).toMatchObject({
      kind: 'user',
      annotations: {
        [`authentication.${DOMAIN}/stale-token`]:
          'subject: system:serviceaccount:n:robot, seconds after warning threshold: 10',
      },
    });
    expect(seen).toMatchObject({ valid: 1, stale: 1, legacy: 0 });
    await clock.advance(31_536_000_000);
    expect(await authenticate(token)).toMatchObject({ kind: 'rejected' });
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
    const token = await issueStored('s');
    expect(await authenticate(token)).toMatchObject({ kind: 'rejected' });
    held.push(secret(token));
    await clock.advance(1e12);
    expect(await authenticate(token)).toMatchObject({
      kind: 'user',
      user: { name: 'system:serviceaccount:n:robot' },
    });
    held[1] = secret('another');
    expect(await authenticate(token)).toMatchObject({ kind: 'rejected' });
  });

  test('are for the server alone, and end with the account', async () => {
    const { issueStored, authenticate, held } = setUp([account()]);
    const token = await issueStored('s');
    held.push(secret(token));
    expect(await authenticate(token, ['vault'])).toMatchObject({ kind: 'rejected' });
    held.shift();
    expect(await authenticate(token)).toMatchObject({ kind: 'rejected' });
  });
});
