/** Routes with which other parties verify service account tokens: the issuer's configuration and its public
 *  keys. Source: OpenID Connect Discovery 1.0, RFC 7517, upstream 1.24. */
import type { KeyObject } from 'node:crypto';
import type { PathRoute } from '../http/contract.ts';

export interface TokenIssuerDeps {
  /** Issuer claim of new tokens. */
  readonly issuer: string;
  /** Returns the keys that verify tokens; read on each request. */
  readonly keys: () => readonly VerificationKey[];
  /** URI of the keys; empty: this server's. */
  readonly jwksUri: string;
  /** `host:port` at which clients reach the server; read on each request. */
  readonly serverAddress: () => string;
}

export interface VerificationKey {
  readonly id: string;
  readonly algorithm: string;
  readonly publicKey: KeyObject;
}

const CONFIGURATION_PATH = '/.well-known/openid-configuration';
const KEYS_PATH = '/openid/v1/jwks';
/** As upstream: verifiers may use a response for an hour. */
const HEADERS = { 'Cache-Control': 'public, max-age=3600' };

/** Returns no routes for an issuer that is not an https URL, as OpenID Connect requires one. */
export function createTokenIssuerRoutes(deps: TokenIssuerDeps): readonly PathRoute[] {
  if (!isIssuerUrl(deps.issuer)) return [];
  return [
    jsonRoute(CONFIGURATION_PATH, 'application/json', () => ({
      issuer: deps.issuer,
      jwks_uri: deps.jwksUri === '' ? `https://${deps.serverAddress()}${KEYS_PATH}` : deps.jwksUri,
      response_types_supported: ['id_token'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: algorithmsOf(deps.keys()),
    })),
    jsonRoute(KEYS_PATH, 'application/jwk-set+json', () => ({
      keys: deps.keys().map(jwkOf),
    })),
  ];
}

const algorithmsOf = (keys: readonly VerificationKey[]): readonly string[] =>
  [...new Set(keys.map(({ algorithm }) => algorithm))].toSorted();

const jwkOf = ({ id, algorithm, publicKey }: VerificationKey): object => ({
  use: 'sig',
  ...publicKey.export({ format: 'jwk' }),
  kid: id,
  alg: algorithm,
});

function isIssuerUrl(issuer: string): boolean {
  const url = URL.parse(issuer);
  return url?.protocol === 'https:' && url.search === '' && url.hash === '';
}

function jsonRoute(path: string, contentType: string, content: () => object): PathRoute {
  return {
    path,
    methods: ['GET'],
    handler: () => ({
      kind: 'bytes',
      status: 200,
      contentType,
      headers: HEADERS,
      body: Buffer.from(JSON.stringify(content())),
    }),
  };
}
