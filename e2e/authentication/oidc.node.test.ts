/** OpenID Connect with a real provider in a process of its own. Document 2 §5.3. */
import { writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { usePlane } from '../plane/support.ts';
import { createIdentityProvider, type IdentityProvider, type ProviderOptions } from './identity-provider.ts';
import { authority } from './pki.ts';

/** More than the interval between two attempts to reach the provider. */
const RETRY = { timeout: 25_000, interval: 250 };

const CLAIMS = ['email', 'email_verified', 'groups', 'team', 'name'];
const options = (changes: Partial<ProviderOptions> = {}): ProviderOptions => ({
  clientId: 'cluster',
  algorithm: 'ES256',
  claims: CLAIMS,
  ...changes,
});

const flagsOf = async (dir: string, provider: IdentityProvider, ...more: string[]): Promise<string[]> => {
  await writeFile(`${dir}/idp-ca.pem`, provider.ca);
  return [
    `--oidc-issuer-url=${provider.issuer}`,
    '--oidc-client-id=cluster',
    `--oidc-ca-file=${dir}/idp-ca.pem`,
    ...more,
  ];
};

/** The user of a token, or the reason of its rejection. */
function reviewer(plane: ReturnType<typeof usePlane>) {
  return async (token: string): Promise<unknown> => {
    const { body } = await plane.post(plane.path('authentication/v1', 'tokenreviews'), { spec: { token } });
    const { authenticated, user, error } = body.status as {
      readonly authenticated?: boolean;
      readonly user?: { readonly username: string; readonly groups?: readonly string[] };
      readonly error?: string;
    };
    return authenticated === true ? [user?.username, user?.groups] : error;
  };
}

describe('a provider that is there when the server starts', () => {
  let provider: IdentityProvider;
  const plane = usePlane('kubernetes', async (dir) => {
    provider = await createIdentityProvider(options());
    await provider.start();
    return flagsOf(
      dir,
      provider,
      '--oidc-username-claim=email',
      '--oidc-groups-claim=groups',
      '--oidc-groups-prefix=idp:',
      '--oidc-required-claim=team=a,b',
      '--oidc-signing-algs=ES256,RS256',
    );
  });
  afterAll(() => provider[Symbol.asyncDispose]());
  const review = reviewer(plane);
  const good = { sub: 'ann', email: 'ann@example.com', team: 'a,b' };

  test.each([
    ['an address', good, ['ann@example.com', ['system:authenticated']]],
    [
      'groups',
      { ...good, email_verified: true, groups: ['dev', 'ops'] },
      ['ann@example.com', ['idp:dev', 'idp:ops', 'system:authenticated']],
    ],
    ['one group', { ...good, groups: 'dev' }, ['ann@example.com', ['idp:dev', 'system:authenticated']]],
    ['an unverified address', { ...good, email_verified: false }, 'oidc: email not verified'],
    ['no address', { sub: 'ann', team: 'a,b' }, 'oidc: parse username claims "email": claim not present'],
    [
      'another required claim',
      { ...good, team: 'a' },
      'oidc: required claim team value does not match. Got = a, want = a,b',
    ],
    ['no required claim', { sub: 'ann', email: 'a@b' }, 'oidc: required claim team not present in ID token'],
  ])('token with %s', async (_, claims, expected) => {
    expect(await review(await provider.idToken(claims))).toEqual(expected);
  });

  test('authenticates requests, and only with an intact token', async () => {
    const token = await provider.idToken(good);
    const who = (text: string) =>
      plane.as(text).post(plane.path('authorization/v1', 'selfsubjectrulesreviews'), {
        spec: { namespace: 'default' },
      });
    expect((await who(token)).status).toBe(201);
    expect((await who(`${token.slice(0, -6)}AAAAAA`)).status).toBe(401);
    const refused = await plane.as(token).get('/api/v1/nodes');
    expect([refused.status, refused.body.message]).toEqual([
      403,
      expect.stringContaining('User "ann@example.com" cannot list'),
    ]);
  });

  test('accepts the keys of a provider that was replaced, and works while it is down', async () => {
    await provider.stop();
    await provider.start();
    const token = await provider.idToken(good);
    await expect.poll(() => review(token), RETRY).toEqual(['ann@example.com', ['system:authenticated']]);
    const second = await provider.idToken({ ...good, email: 'bob@example.com' });
    await provider.stop();
    expect(await review(second)).toEqual(['bob@example.com', ['system:authenticated']]);
  }, 60_000);

  test('shows attempts and the token cache in the metrics', async () => {
    const { text } = await plane.get('/metrics');
    for (const line of [
      /^authentication_attempts\{result="success"\} [1-9]/m,
      /^authentication_attempts\{result="error"\} [1-9]/m,
      /^authenticated_user_requests\{username="admin"\} [1-9]/m,
      /^authenticated_user_requests\{username="email_id"\} [1-9]/m,
      /^authentication_duration_seconds_count\{result="success"\} [1-9]/m,
      /^authentication_token_cache_request_total\{status="miss"\} [1-9]/m,
      /^authentication_token_cache_fetch_total\{status="ok"\} [1-9]/m,
      /^authentication_token_cache_fetch_total\{status="error"\} [1-9]/m,
      /^authentication_token_cache_active_fetch_count\{status="in_flight"\} 0/m,
      /^authentication_token_cache_request_duration_seconds_count\{status="miss"\} [1-9]/m,
      /^apiserver_client_certificate_expiration_seconds_count [1-9]/m,
    ]) {
      expect(text).toMatch(line);
    }
  });
});

describe('a provider with PS512 that starts after the server', () => {
  let provider: IdentityProvider;
  let caFile: string;
  const plane = usePlane('plat', async (dir) => {
    provider = await createIdentityProvider(options({ algorithm: 'PS512' }));
    await writeFile(`${dir}/tokens`, 'static,carl,1\n');
    const more = [`--token-auth-file=${dir}/tokens`, '--oidc-signing-algs=PS512'];
    const flags = await flagsOf(dir, provider, ...more);
    caFile = `${dir}/idp-ca.pem`;
    await writeFile(caFile, authority('another-ca').certificate);
    return flags;
  });
  let token = '';
  beforeAll(async () => {
    await provider.start();
    token = await provider.idToken({ name: 'Ann' });
    await provider.stop();
  });
  afterAll(() => provider[Symbol.asyncDispose]());
  const review = reviewer(plane);

  test('disturbs no other authenticator, and is discovered once its CA is in the file', async () => {
    expect(await review(token)).toMatch(/^oidc: /);
    expect(await review('static')).toEqual(['carl', ['system:authenticated']]);
    await provider.start();
    await writeFile(caFile, provider.ca);
    const later = await provider.idToken({ name: 'Ann' });
    const name = `${provider.issuer}#{"name":"Ann"}`;
    await expect.poll(() => review(later), RETRY).toEqual([name, ['system:authenticated']]);
  }, 60_000);
});
