/** Distributed claims: a claim that the token itself does not have, as a signed token from another endpoint. Source:
 *  OpenID Connect Core 1.0 §5.6.2; upstream's resolver. */
import { messageOf } from '#api/kit/error-chain.ts';
import { isObject, textOf } from '#api/kit/object.ts';
import { type Claims, readToken } from '../jwt.ts';
import { issuerOf } from './claims.ts';
import type { HttpClient } from './http-client.ts';
import { createProvider, type Provider, type ProviderDeps } from './provider.ts';
import { type Verified, type VerifierDeps, verifyToken } from './verifier.ts';

export interface ClaimEndpoint {
  readonly url: string;
  readonly accessToken: string | undefined;
}

/** Where a claim is found: in the token, nowhere, or at an endpoint. */
export type ClaimSource =
  | { readonly kind: 'none' }
  | { readonly kind: 'endpoint'; readonly endpoint: ClaimEndpoint }
  | { readonly kind: 'invalid'; readonly message: string };

const NONE: ClaimSource = { kind: 'none' };
const invalid = (message: string): ClaimSource => ({ kind: 'invalid', message });

/** Returns the source of a claim of a token. Aggregated claims have no endpoint and are ignored, as upstream. */
export function sourceOf(claims: Claims, claim: string): ClaimSource {
  const { _claim_names: names, _claim_sources: sources } = claims;
  if (claims[claim] !== undefined || names === undefined) return NONE;
  if (!isObject(names)) return invalid('error parsing distributed claim names');
  if (sources === undefined) return invalid('no claim sources');
  if (!isObject(sources)) return invalid('could not parse claim sources');
  const name = names[claim];
  if (name === undefined) return NONE;
  const source = typeof name === 'string' && Object.hasOwn(sources, name) ? sources[name] : undefined;
  if (!isObject(source)) {
    return invalid(`id token _claim_names contained a source ${textOf(name)} missing in _claims_sources`);
  }
  const url = textOf(source['endpoint']);
  if (url === '') return NONE;
  const accessToken = textOf(source['access_token']);
  return {
    kind: 'endpoint',
    endpoint: { url, accessToken: accessToken === '' ? undefined : accessToken },
  };
}

export interface ClaimResolverDeps extends VerifierDeps, ProviderDeps {
  readonly http: Pick<HttpClient, 'get'>;
  readonly algorithms: readonly string[];
}

/** Providers of distributed claims; more are not called. */
const MAX_PROVIDERS = 16;

/** Returns the claims of a token, with one claim resolved.
 *  @param main provider of the token, which may issue the claim as well */
export type ResolveClaim = (claims: Claims, flow: string) => Promise<Verified>;

export function createClaimResolver(deps: ClaimResolverDeps, main: Provider, claim: string): ResolveClaim {
  const providers = new Map<string, Provider>([[main.issuer, main]]);

  /** @throws Error if there are too many */
  function providerOf(issuer: string): Provider {
    const known = providers.get(issuer);
    if (known !== undefined) return known;
    if (providers.size >= MAX_PROVIDERS) throw new Error('too many issuers of distributed claims');
    const provider = createProvider(deps, issuer, deps.algorithms);
    providers.set(issuer, provider);
    return provider;
  }

  async function fetchClaims({ url, accessToken }: ClaimEndpoint, flow: string): Promise<Verified> {
    const text = await deps.calls.run(flow, () => deps.http.get(url, accessToken));
    const token = readToken(text.trim());
    if (token === undefined) throw new Error(`the response of ${url} is not a token`);
    return verifyToken(deps, providerOf(issuerOf(token.claims)), token, flow);
  }

  return async (claims, flow) => {
    const source = sourceOf(claims, claim);
    const failed = (kind: 'rejected' | 'unavailable', why: string): Verified => ({
      kind,
      message: `oidc: could not expand distributed claims: ${why}`,
    });
    if (source.kind === 'none') return { kind: 'claims', claims };
    if (source.kind === 'invalid') return failed('rejected', source.message);
    try {
      const found = await fetchClaims(source.endpoint, flow);
      if (found.kind !== 'claims') return failed(found.kind, found.message);
      const value = found.claims[claim];
      return value === undefined
        ? failed('rejected', `the token of the endpoint does not contain the claim ${claim}`)
        : { kind: 'claims', claims: { ...claims, [claim]: value } };
    } catch (thrown) {
      return failed('unavailable', messageOf(thrown));
    }
  };
}
