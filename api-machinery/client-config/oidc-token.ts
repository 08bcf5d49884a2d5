/** Identity tokens of OpenID Connect as a client sees them. Pure; the server alone checks their signature.
 *  Source: document 2, section 5.3; RFC 6749, section 6; OpenID Connect Discovery 1.0, section 4. */

import { parseJsonText } from '../codec/json-text.ts';
import { trimEnd } from '../kit/trim-end.ts';
import { isObject } from './fields.ts';
import type { OidcSpec } from './oidc-spec.ts';

/** An answer of the identity provider that cannot be used. Never quotes a token. */
export class OidcError extends Error {
  override readonly name = 'OidcError';
  readonly reason = 'OidcRefreshFailed';
}

/** A token this near its end is renewed. */
const EARLY_MS = 10_000;

function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = parseJsonText(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** When a JWT ends, in Unix ms; undefined for one that does not say, or is none. */
export function tokenExpiryMs(token: string): number | undefined {
  const [, body, signature] = token.split('.');
  if (body === undefined || signature === undefined) return undefined;
  const exp = parseObject(Buffer.from(body, 'base64url').toString('utf8'))?.['exp'];
  return typeof exp === 'number' && Number.isFinite(exp) ? exp * 1000 : undefined;
}

/** Whether a token can still be sent. */
export function isFresh(token: string, nowMs: number): boolean {
  const endMs = tokenExpiryMs(token);
  return endMs !== undefined && nowMs + EARLY_MS < endMs;
}

/** Where an issuer tells of itself. */
export function discoveryUrl(issuerUrl: string): string {
  return `${trimEnd(issuerUrl, '/')}/.well-known/openid-configuration`;
}

export interface TokenEndpoint {
  readonly url: string;
  /** How a client with a secret proves itself: in a header, or in the body. */
  readonly secretIn: 'header' | 'body';
}

/** Reads the discovery document.
 *  @throws OidcError */
export function parseDiscovery(text: string, issuerUrl: string): TokenEndpoint {
  const found = parseObject(text);
  if (found === undefined) throw new OidcError('the discovery document is not a JSON object');
  const { issuer, token_endpoint: url, token_endpoint_auth_methods_supported: methods } = found;
  const bare = (address: string): string => trimEnd(address, '/');
  if (typeof issuer !== 'string' || bare(issuer) !== bare(issuerUrl)) {
    throw new OidcError(`the discovery document must name ${issuerUrl} as its issuer`);
  }
  if (typeof url !== 'string' || URL.parse(url)?.protocol !== 'https:') {
    throw new OidcError('the discovery document must name an https URL as its token_endpoint');
  }
  // Without the list the header is meant.
  const onlyBody =
    Array.isArray(methods) &&
    !methods.includes('client_secret_basic') &&
    methods.includes('client_secret_post');
  return { url, secretIn: onlyBody ? 'body' : 'header' };
}

export interface RefreshRequest {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The request that renews a token. */
export function formatRefresh(
  spec: Pick<OidcSpec, 'clientId' | 'clientSecret'>,
  refreshToken: string,
  secretIn: TokenEndpoint['secretIn'],
): RefreshRequest {
  const form = new URLSearchParams({ grant_type: 'refresh_token', refresh_token: refreshToken });
  const headers: Record<string, string> = {
    'content-type': 'application/x-www-form-urlencoded',
    accept: 'application/json',
  };
  if (spec.clientSecret !== '' && secretIn === 'header') {
    const encode = (part: string): string => new URLSearchParams({ '': part }).toString().slice(1);
    const login = `${encode(spec.clientId)}:${encode(spec.clientSecret)}`;
    headers['authorization'] = `Basic ${Buffer.from(login).toString('base64')}`;
  } else {
    form.set('client_id', spec.clientId);
    if (spec.clientSecret !== '') form.set('client_secret', spec.clientSecret);
  }
  return { headers, body: form.toString() };
}

export interface OidcTokens {
  readonly idToken: string;
  readonly refreshToken: string;
}

/** The name of a failure in an answer of the token endpoint, such as `invalid_grant`. */
export function refreshFailure(text: string): string | undefined {
  const error = parseObject(text)?.['error'];
  return typeof error === 'string' && /^[a-z_]{1,64}$/.test(error) ? error : undefined;
}

/** Reads the tokens of an answer; the old refresh token stays where no new one came.
 *  @throws OidcError */
export function parseRefreshed(text: string, refreshToken: string): OidcTokens {
  const answer = parseObject(text);
  if (answer === undefined) throw new OidcError('the answer to the refresh is not a JSON object');
  const { id_token: idToken, refresh_token: next } = answer;
  if (typeof idToken !== 'string' || !/^[\w-]+\.[\w-]+\.[\w-]*$/.test(idToken)) {
    throw new OidcError(
      'the answer to the refresh has no id_token: the scope openid was not asked for at login, or the provider gives none',
    );
  }
  return { idToken, refreshToken: typeof next === 'string' && next !== '' ? next : refreshToken };
}
