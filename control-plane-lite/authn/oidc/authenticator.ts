/** Authenticates ID tokens of one OpenID Connect provider. The server starts without the provider, and retries until
 *  it is discovered. Source: OpenID Connect, document 2 §5.3; upstream's authenticator. */
import { type Clock, sleep } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import { type AuthenticationResult, type Authenticator, NOT_APPLICABLE, rejected } from '../contract.ts';
import { type Claims, readToken, type UnverifiedToken } from '../jwt.ts';
import { type ClaimMapping, issuerOf, userOf } from './claims.ts';
import { type ClaimResolverDeps, createClaimResolver } from './distributed-claims.ts';
import { createProvider, type Provider, REFRESH_MS } from './provider.ts';
import { verifyToken } from './verifier.ts';

export interface OidcDeps extends ClaimResolverDeps {
  readonly log: Pick<Logger, 'warn' | 'info'>;
  /** Ends the attempts to discover the provider. */
  readonly signal: AbortSignal;
}

/** Attempts to discover the provider until that succeeds or the signal fires. */
async function discover(
  { clock, log, signal }: { clock: Clock } & Pick<OidcDeps, 'log' | 'signal'>,
  provider: Provider,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await provider.refresh();
      log.info({ issuer: provider.issuer }, 'OpenID Connect provider discovered');
      return;
    } catch (err) {
      if (signal.aborted) return;
      log.warn({ err, issuer: provider.issuer }, 'Failed to discover OpenID Connect provider; retrying');
    }
    await sleep(clock, REFRESH_MS, signal).catch(() => undefined);
  }
}

function resultOf(claims: Claims, mapping: ClaimMapping): AuthenticationResult {
  const user = userOf(claims, mapping);
  if ('error' in user) return rejected(`oidc: ${user.error}`);
  return { kind: 'user', user: user.value, expiresMs: Number(claims['exp']) * 1000 };
}

export function createOidcAuthenticator(
  deps: OidcDeps,
  issuer: string,
  mapping: ClaimMapping,
): Authenticator {
  const provider = createProvider(deps, issuer, deps.algorithms);
  const resolve =
    mapping.groupsClaim === '' ? undefined : createClaimResolver(deps, provider, mapping.groupsClaim);
  void discover(deps, provider);

  async function verify(token: UnverifiedToken, flow: string): Promise<AuthenticationResult> {
    let verified = await verifyToken(deps, provider, token, flow);
    if (verified.kind === 'claims' && resolve !== undefined) verified = await resolve(verified.claims, flow);
    switch (verified.kind) {
      case 'claims':
        return resultOf(verified.claims, mapping);
      case 'rejected':
        return rejected(verified.message);
      case 'unavailable':
        return { kind: 'rejected', message: verified.message, transient: true };
      default:
        return verified satisfies never;
    }
  }

  return {
    name: 'oidc',
    authenticate({ bearerToken, flow = '' }) {
      const token = bearerToken === undefined ? undefined : readToken(bearerToken);
      if (token === undefined || issuerOf(token.claims) !== issuer) return NOT_APPLICABLE;
      return verify(token, flow);
    },
  };
}
