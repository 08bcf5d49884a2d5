/** Service account tokens: the signing key, the verification keys, and the audiences. */
import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Clock } from '#api/kit/clock.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { Authenticator } from '../authn/contract.ts';
import { createAccountTokenAuthenticator } from '../authn/service-account/authenticator.ts';
import { createTokenIssuer, type TokenIssuer } from '../authn/service-account/issuer.ts';
import { type TokenKey, tokenKey } from '../authn/service-account/jwt.ts';
import type { Cache } from '../cache/contract.ts';
import type { ServerConfig } from '../config/settings.ts';
import { loadSigningKey } from '../identity/signing-key.ts';
import type { ResourceRegistry } from '../resources/registry.ts';

export interface AccountTokens {
  readonly issuer: TokenIssuer;
  readonly authenticator: Authenticator;
  /** Issuer claim of new tokens. */
  readonly issuerName: string;
  /** Keys that verify tokens. */
  readonly keys: readonly TokenKey[];
}

export interface AccountTokensDeps {
  readonly config: ServerConfig;
  readonly vocabulary: Vocabulary;
  readonly clock: Clock;
  readonly cache: Cache;
  readonly registry: ResourceRegistry;
}

const PLURALS = { ServiceAccount: 'serviceaccounts', Pod: 'pods', Secret: 'secrets' } as const;

/** @throws Error that names the unreadable or invalid file */
export async function createAccountTokens(deps: AccountTokensDeps): Promise<AccountTokens> {
  const { config, vocabulary, clock, cache, registry } = deps;
  const { domain } = vocabulary;
  const privateKey = await signingKey(config);
  const key = tokenKey(privateKey);
  const others = await Promise.all(config.serviceAccountKeyFile.map(publicKeyOf));
  const [issuer = `https://${vocabulary.apiService}.default.svc`] = config.serviceAccountIssuer;
  const issuers = [issuer, ...config.serviceAccountIssuer];
  const audiences = config.apiAudiences.length === 0 ? [issuer] : config.apiAudiences;
  const keys = [key, ...others];
  const storedIssuer = `${vocabulary.name}/serviceaccount`;
  return {
    issuerName: issuer,
    keys,
    issuer: createTokenIssuer({ privateKey, key, issuer, storedIssuer, audiences, domain }),
    authenticator: createAccountTokenAuthenticator({
      clock,
      keys,
      issuers,
      storedIssuer,
      audiences,
      domain,
      find(kind, namespace, name) {
        const resource = registry.find('', 'v1', PLURALS[kind]);
        if (resource === undefined) return undefined;
        return cache.resource(resource.storage).get(`${namespace}/${name}`)?.object();
      },
    }),
  };
}

async function signingKey({ dataDir, serviceAccountSigningKeyFile: file }: ServerConfig): Promise<KeyObject> {
  if (file === '') return loadSigningKey(dataDir);
  return keyIn(file, createPrivateKey);
}

async function publicKeyOf(file: string): Promise<TokenKey> {
  const key = await keyIn(file, createPublicKey);
  try {
    return tokenKey(key);
  } catch (cause) {
    throw new Error(`${file} contains no key for tokens`, { cause });
  }
}

async function keyIn(file: string, parse: (pem: string) => KeyObject): Promise<KeyObject> {
  try {
    return parse(await readFile(file, 'utf8'));
  } catch (cause) {
    throw new Error(`cannot read ${file} as a key in PEM form`, { cause });
  }
}
