import { describe, expect, test } from 'vitest';
import type { OidcTokens } from '#api/client-config/oidc-token.ts';
import { createFakeClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { createOidcCredentials, type IdpRequest, type IdpResponse } from './oidc-credentials.ts';

const { signal } = new AbortController();
const issuerUrl = 'https://idp/x';

function setUp(refreshToken = 'R1', endsInMs = 60_000) {
  const clock = createFakeClock();
  const jwt = (exp: number): string =>
    `e30.${Buffer.from(JSON.stringify({ exp })).toString('base64url')}.c2ln`;
  const first = jwt((clock.now() + endsInMs) / 1000);
  const second = jwt((clock.now() + 7_200_000) / 1000);
  const sent: IdpRequest[] = [];
  const saved: OidcTokens[] = [];
  const responses: { refresh: IdpResponse } = {
    refresh: { status: 200, text: JSON.stringify({ id_token: second, refresh_token: 'R2' }) },
  };
  const source = createOidcCredentials(
    {
      clock,
      log: silentLogger,
      async send(request) {
        await Promise.resolve();
        sent.push(request);
        if (request.method === 'POST') return responses.refresh;
        const document = { issuer: issuerUrl, token_endpoint: 'https://idp/token' };
        return { status: 200, text: JSON.stringify(document) };
      },
      save(tokens) {
        saved.push(tokens);
        return Promise.resolve();
      },
    },
    { issuerUrl, clientId: 'c', clientSecret: '', refreshToken, idToken: first, authority: undefined },
  );
  return { clock, source, sent, saved, responses, first, second };
}

describe('createOidcCredentials', () => {
  test('sends a valid token without a request to the provider', async () => {
    const { source, sent, first } = setUp();
    expect(await source.current(signal)).toEqual({ authorization: `Bearer ${first}` });
    expect(sent).toEqual([]);
  });

  test('renews an expiring token once for all callers, and persists it', async () => {
    const { source, clock, sent, saved, second } = setUp();
    await clock.advance(51_000);
    const both = await Promise.all([source.current(signal), source.current(signal)]);
    expect(both).toEqual([{ authorization: `Bearer ${second}` }, { authorization: `Bearer ${second}` }]);
    expect(sent.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'GET https://idp/x/.well-known/openid-configuration',
      'POST https://idp/token',
    ]);
    expect(sent[1]?.body).toBe('grant_type=refresh_token&refresh_token=R1&client_id=c');
    expect(saved).toEqual([{ idToken: second, refreshToken: 'R2' }]);
  });

  test('renews a rejected token, unless there is a newer one', async () => {
    const { source, sent, second } = setUp();
    const used = await source.current(signal);
    await source.refused(used, signal);
    await source.refused(used, signal);
    expect(await source.current(signal)).toEqual({ authorization: `Bearer ${second}` });
    expect(sent).toHaveLength(2);
  });

  test('cannot renew without a refresh token', async () => {
    const { source, sent } = setUp('', 0);
    await expect(source.current(signal)).rejects.toThrow(
      'the id-token of https://idp/x has expired, and there is no refresh-token: log in again',
    );
    await source.refused({}, signal);
    expect(sent).toEqual([]);
  });

  test('reports the error of the provider', async () => {
    const { source, responses, saved } = setUp('R1', 0);
    responses.refresh = { status: 400, text: '{"error":"invalid_grant"}' };
    await expect(source.current(signal)).rejects.toThrow(
      'https://idp/token responded with 400 (invalid_grant) to the refresh; log in again',
    );
    expect(saved).toEqual([]);
  });
});
