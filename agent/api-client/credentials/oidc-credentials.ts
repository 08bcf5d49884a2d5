/** OpenID Connect identity tokens: renewed shortly before they expire, one renewal at a time.
 *  Source: OIDC credentials, document 2 §5.3. */
import type { OidcSpec } from '#api/client-config/oidc-spec.ts';
import {
  discoveryUrl,
  formatRefresh,
  isFresh,
  OidcError,
  type OidcTokens,
  parseDiscovery,
  parseRefreshed,
  refreshFailure,
} from '#api/client-config/oidc-token.ts';
import type { Clock } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import { createSingleFlight } from '#api/kit/single-flight.ts';
import type { Credential, CredentialSource } from './credentials.ts';

export interface IdpRequest {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface IdpResponse {
  readonly status: number;
  readonly text: string;
}

export interface OidcDeps {
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Pick<Logger, 'warn'>;
  /** Sends a request to the identity provider; does not follow redirects. */
  readonly send: (request: IdpRequest, signal: AbortSignal) => Promise<IdpResponse>;
  /** Persists renewed tokens for the next start. */
  readonly save: (tokens: OidcTokens) => Promise<void>;
}

export function createOidcCredentials(deps: OidcDeps, spec: OidcSpec): CredentialSource {
  const { clock, log, send, save } = deps;
  const flights = createSingleFlight<string>();
  let tokens: OidcTokens = { idToken: spec.idToken, refreshToken: spec.refreshToken };

  async function refresh(signal: AbortSignal): Promise<string> {
    const accept = { accept: 'application/json' };
    const url = discoveryUrl(spec.issuerUrl);
    const found = await send({ method: 'GET', url, headers: accept }, signal);
    if (found.status !== 200) throw new OidcError(`${url} responded with ${found.status} instead of 200`);
    const endpoint = parseDiscovery(found.text, spec.issuerUrl);
    const request = formatRefresh(spec, tokens.refreshToken, endpoint.secretIn);
    const response = await send({ method: 'POST', url: endpoint.url, ...request }, signal);
    if (response.status !== 200) {
      const failure = refreshFailure(response.text);
      const why = failure === undefined ? '' : ` (${failure})`;
      throw new OidcError(
        `${endpoint.url} responded with ${response.status}${why} to the refresh; log in again`,
      );
    }
    tokens = parseRefreshed(response.text, tokens.refreshToken);
    // A refresh token may be valid for one use: without the new one, the next start could not renew.
    await save(tokens).catch((thrown: unknown) => {
      log.warn({ err: asError(thrown), issuer: spec.issuerUrl }, 'Failed to persist renewed tokens');
    });
    return tokens.idToken;
  }

  const renew = async (signal: AbortSignal): Promise<string> => {
    if (tokens.refreshToken === '') {
      throw new OidcError(
        `the id-token of ${spec.issuerUrl} has expired, and there is no refresh-token: log in again`,
      );
    }
    return await flights.run('refresh', refresh, signal);
  };
  const bearer = (idToken: string): Credential => ({ authorization: `Bearer ${idToken}` });
  return {
    async current(signal) {
      return bearer(isFresh(tokens.idToken, clock.now()) ? tokens.idToken : await renew(signal));
    },
    async refused(used, signal) {
      const isNewest = used.authorization === bearer(tokens.idToken).authorization;
      if (isNewest && tokens.refreshToken !== '') await renew(signal);
    },
  };
}
