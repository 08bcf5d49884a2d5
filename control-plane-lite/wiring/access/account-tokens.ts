/** Service account tokens: the signing key, the verification keys, and the audiences. */
import { createPrivateKey, createPublicKey } from 'node:crypto';
import type { Clock } from '#api/kit/clock.ts';
import { parsePem } from '#api/pki/pem.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { Authenticator, Gate } from '../../authn/contract.ts';
import { type TokenKey, tokenKey } from '../../authn/jwt.ts';
import {
  type AccountTokenCounts,
  createAccountTokenAuthenticator,
} from '../../authn/service-account/authenticator.ts';
import { createTokenIssuer, type SigningKey, type TokenIssuer } from '../../authn/service-account/issuer.ts';
import type { Cache } from '../../cache/contract.ts';
import type { ServerConfig } from '../../config/settings.ts';
import { loadSigningKey } from '../../identity/signing-key.ts';
import type { ResourceRegistry } from '../../resources/registry.ts';
import type { Follow } from '../certificates/follow.ts';

export interface AccountTokens {
  readonly issuer: TokenIssuer;
  readonly authenticator: Authenticator;
  /** Issuer claim of new tokens. */
  readonly issuerName: string;
  /** Audiences of this server. */
  readonly audiences: readonly string[];
  /** Returns the keys that verify tokens. */
  readonly keys: () => readonly TokenKey[];
}

export interface AccountTokensDeps {
  readonly config: ServerConfig;
  readonly vocabulary: Vocabulary;
  readonly clock: Clock;
  readonly cache: Cache;
  readonly registry: ResourceRegistry;
  readonly verifications: Gate;
  readonly counts: AccountTokenCounts;
  readonly follow: Follow;
}

const PLURALS = { ServiceAccount: 'serviceaccounts', Pod: 'pods', Secret: 'secrets' } as const;

/** @throws Error that names the unreadable or invalid file */
export async function createAccountTokens(deps: AccountTokensDeps): Promise<AccountTokens> {
  const { config, vocabulary, clock, cache, registry } = deps;
  const { domain } = vocabulary;
  const [issuer = `https://${vocabulary.apiService}.default.svc`] = config.serviceAccountIssuer;
  const issuers = [...new Set([issuer, ...config.serviceAccountIssuer])];
  const audiences = config.apiAudiences.length === 0 ? issuers : config.apiAudiences;
  const signingKey = await followSigningKey(deps);
  const keys = await followKeys(deps, signingKey);
  const storedIssuer = `${vocabulary.name}/serviceaccount`;
  return {
    issuerName: issuer,
    audiences,
    keys,
    issuer: createTokenIssuer({ signingKey, issuer, storedIssuer, audiences, domain }),
    authenticator: createAccountTokenAuthenticator({
      clock,
      keys,
      issuers,
      storedIssuer,
      audiences,
      domain,
      verifications: deps.verifications,
      counts: deps.counts,
      find(kind, namespace, name) {
        const resource = registry.find('', 'v1', PLURALS[kind]);
        if (resource === undefined) return undefined;
        return cache.resource(resource.storage).get(`${namespace}/${name}`)?.object();
      },
    }),
  };
}

async function followSigningKey(deps: AccountTokensDeps): Promise<() => SigningKey> {
  const { dataDir, serviceAccountSigningKeyFile: file } = deps.config;
  if (file === '') {
    const privateKey = await loadSigningKey(dataDir);
    const own = { privateKey, key: tokenKey(privateKey) };
    return () => own;
  }
  const parse = ([text = '']: readonly string[]): SigningKey =>
    inFile(file, () => {
      const privateKey = createPrivateKey(text);
      return { privateKey, key: tokenKey(privateKey) };
    });
  const followed = await deps.follow({ what: 'signing key of service accounts', paths: [file], parse });
  return followed.current;
}

/** Follows the keys that verify tokens: that of new tokens, then those of the files. */
async function followKeys(
  deps: AccountTokensDeps,
  signingKey: () => SigningKey,
): Promise<() => readonly TokenKey[]> {
  const files = deps.config.serviceAccountKeyFile;
  const parse = (texts: readonly string[]): readonly TokenKey[] =>
    texts.flatMap((text, index) => inFile(files[index] ?? '', () => publicKeysOf(text)));
  const { current: others } = await deps.follow({ what: 'keys of service accounts', paths: files, parse });
  let signing = signingKey();
  let rest = others();
  let keys = [signing.key, ...rest];
  return () => {
    // The same list until a key changes: what was verified with it stays valid.
    if (signing !== signingKey() || rest !== others()) {
      signing = signingKey();
      rest = others();
      keys = [signing.key, ...rest];
    }
    return keys;
  };
}

/** Returns the keys of a PEM file; private keys and certificates contain public ones. */
function publicKeysOf(pem: string): readonly TokenKey[] {
  const blocks = parsePem(pem).filter(({ label }) => label !== 'EC PARAMETERS');
  const texts = blocks.length === 0 ? [pem] : blocks.map(({ text }) => text);
  return texts.map((text) => tokenKey(createPublicKey(text)));
}

function inFile<T>(file: string, parse: () => T): T {
  try {
    return parse();
  } catch (cause) {
    throw new Error(`${file} contains no key for tokens in PEM form`, { cause });
  }
}
