import { describe, expect, test } from 'vitest';
import {
  discoveryUrl,
  formatRefresh,
  isFresh,
  parseDiscovery,
  parseRefreshed,
  refreshFailure,
  tokenExpiryMs,
} from './oidc-token.ts';
import { rewriteOidcTokens } from './rewrite.ts';

const jwt = (claims: object): string =>
  `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.c2ln`;

describe('tokenExpiryMs', () => {
  test.each<[string, string, number | undefined]>([
    ['a time', jwt({ exp: 100 }), 100_000],
    ['no time', jwt({}), undefined],
    ['a text as a time', jwt({ exp: '100' }), undefined],
    ['no JWT', 'abc', undefined],
    ['a body that is no JSON', 'a.b.c', undefined],
  ])('of a token with %s', (_, token, expected) => {
    expect(tokenExpiryMs(token)).toBe(expected);
  });
  test('counts as reached ten seconds early', () => {
    expect([89_999, 90_000].map((now) => isFresh(jwt({ exp: 100 }), now))).toEqual([true, false]);
  });
});

describe('parseDiscovery', () => {
  const document = { issuer: 'https://idp/x', token_endpoint: 'https://idp/t' };
  test.each<[string, object, string]>([
    ['the header by default', {}, 'header'],
    [
      'the header',
      { token_endpoint_auth_methods_supported: ['client_secret_post', 'client_secret_basic'] },
      'header',
    ],
    ['the body', { token_endpoint_auth_methods_supported: ['client_secret_post'] }, 'body'],
  ])('puts the secret into %s', (_, change, secretIn) => {
    const text = JSON.stringify({ ...document, ...change });
    expect(parseDiscovery(text, 'https://idp/x/')).toEqual({ url: 'https://idp/t', secretIn });
  });
  test.each<[string, string]>([
    ['no JSON', '<html>'],
    ['another issuer', JSON.stringify({ ...document, issuer: 'https://evil' })],
    ['an endpoint without TLS', JSON.stringify({ ...document, token_endpoint: 'http://idp/t' })],
  ])('rejects %s', (_, text) => {
    expect(() => parseDiscovery(text, 'https://idp/x')).toThrow(
      expect.objectContaining({ name: 'OidcError' }),
    );
  });
  test('is below the issuer', () => {
    expect(discoveryUrl('https://idp/x/')).toBe('https://idp/x/.well-known/openid-configuration');
  });
});

describe('formatRefresh', () => {
  const spec = { clientId: 'a b', clientSecret: 's:1' };
  test('authenticates the client in the header', () => {
    const { headers, body } = formatRefresh(spec, 'r', 'header');
    expect(headers['authorization']).toBe(`Basic ${Buffer.from('a+b:s%3A1').toString('base64')}`);
    expect(body).toBe('grant_type=refresh_token&refresh_token=r');
  });
  test('authenticates the client in the body', () => {
    const { headers, body } = formatRefresh(spec, 'r', 'body');
    expect(headers['authorization']).toBeUndefined();
    expect(body).toBe('grant_type=refresh_token&refresh_token=r&client_id=a+b&client_secret=s%3A1');
  });
  test('names a public client', () => {
    expect(formatRefresh({ clientId: 'a', clientSecret: '' }, 'r', 'header').body).toContain('client_id=a');
  });
});

describe('parseRefreshed', () => {
  test('retains the refresh token without a new one', () => {
    const idToken = jwt({});
    expect(parseRefreshed(JSON.stringify({ id_token: idToken }), 'old')).toEqual({
      idToken,
      refreshToken: 'old',
    });
    expect(
      parseRefreshed(JSON.stringify({ id_token: idToken, refresh_token: 'new' }), 'old').refreshToken,
    ).toBe('new');
  });
  test('rejects a response without a token', () => {
    expect(() => parseRefreshed('{"access_token":"a"}', 'r')).toThrow(/no id_token/);
    expect(() => parseRefreshed('no', 'r')).toThrow(/not a JSON object/);
  });
  test('reports an error code only in its usual form', () => {
    expect(refreshFailure('{"error":"invalid_grant"}')).toBe('invalid_grant');
    expect(refreshFailure('{"error":"Some secret"}')).toBeUndefined();
  });
});

describe('rewriteOidcTokens', () => {
  const tokens = { idToken: 'I2', refreshToken: 'R2' };
  const yaml = `# ours
kind: Config
users:
- name: other # stays
  user: {token: x}
- name: me
  user:
    auth-provider:
      name: oidc
      config:
        client-id: c # mine
        id-token: I1
        refresh-token: R1
`;
  test('changes two values of a YAML text', () => {
    const expected = yaml.replace('I1', 'I2').replace('R1', 'R2');
    expect(rewriteOidcTokens(yaml, 'me', tokens)?.replaceAll(/\{ ?token: x ?\}/g, '{token: x}')).toBe(
      expected,
    );
  });
  test('changes two values of a JSON text', () => {
    const config = {
      users: [{ name: 'me', user: { 'auth-provider': { name: 'oidc', config: { a: 'b' } } } }],
    };
    expect(JSON.parse(rewriteOidcTokens(JSON.stringify(config), 'me', tokens) ?? '')).toEqual({
      users: [
        {
          name: 'me',
          user: {
            'auth-provider': { name: 'oidc', config: { a: 'b', 'id-token': 'I2', 'refresh-token': 'R2' } },
          },
        },
      ],
    });
  });
  test('changes YAML in braces', () => {
    const text = '{users: [{name: me, user: {auth-provider: {name: oidc, config: {id-token: I1}}}}]}';
    expect(rewriteOidcTokens(text, 'me', tokens)).toContain('id-token: I2');
  });
  test.each(['gone', 'other'])('leaves a text without the provider of %s alone', (name) => {
    expect(rewriteOidcTokens(yaml, name, tokens)).toBeUndefined();
  });
});
