/** Identity tokens of OpenID Connect in a client. Pure; only the server verifies their signature.
 *  Source: OpenID Connect, document 2 §5.3; RFC 6749, section 6; OpenID Connect Discovery 1.0, section 4. */

import { parseJsonText } from '../codec/json-text.ts';
import { isObject } from '../kit/object.ts';
import { trimEnd } from '../kit/text/trim-end.ts';
import type { OidcSpec } from './oidc-spec.ts';

/** An unusable response of the identity provider. Never quotes a token. */
export class OidcError extends Error {
  override readonly name = 'OidcError';
  readonly reason = 'OidcRefreshFailed';
}

/** A token this close to its expiry is renewed. */
const EARLY_MS = 10_000;

function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = parseJsonText(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the expiry of a JWT in Unix ms; undefined if it has none, or the text is not a JWT. */
export function tokenExpiryMs(token: string): number | undefined {
  const [, body, signature] = token.split('.');
  if (body === undefined || signature === undefined) return undefined;
  const exp = parseObject(Buffer.from(body, 'base64url').toString('utf8'))?.['exp'];
  return typeof exp === 'number' && Number.isFinite(exp) ? exp * 1000 : undefined;
}

/** Reports whether a token is still valid for a request. */
export function isFresh(token: string, nowMs: number): boolean {
  const endMs = tokenExpiryMs(token);
  return endMs !== undefined && nowMs + EARLY_MS < endMs;
}

/** Returns the URL of an issuer's discovery document. */
export function discoveryUrl(issuerUrl: string): string {
  return `${trimEnd(issuerUrl, '/')}/.well-known/openid-configuration`;
}

export interface TokenEndpoint {
  readonly url: string;
  /** How a client sends its secret: in a header, or in the body. */
  readonly secretIn: 'header' | 'body';
}

/** Parses the discovery document.
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
  // Without the list, the header is the default.
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

/** Builds the request that renews a token. */
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

/** Returns the error code in a response of the token endpoint, such as `invalid_grant`. */
export function refreshFailure(text: string): string | undefined {
  const error = parseObject(text)?.['error'];
  return typeof error === 'string' && /^[a-z_]{1,64}$/.test(error) ? error : undefined;
}

/** Parses the tokens in a response; keeps the old refresh token if there is no new one.
 *  @throws OidcError */
export function parseRefreshed(text: string, refreshToken: string): OidcTokens {
  const response = parseObject(text);
  if (response === undefined) throw new OidcError('the refresh response is not a JSON object');
  const { id_token: idToken, refresh_token: next } = response;
  if (typeof idToken !== 'string' || !/^[\w-]+\.[\w-]+\.[\w-]*$/.test(idToken)) {
    throw new OidcError(
      'the refresh response has no id_token: the scope openid was not requested at login, or the provider does not issue one',
    );
  }
  return { idToken, refreshToken: typeof next === 'string' && next !== '' ? next : refreshToken };
}
