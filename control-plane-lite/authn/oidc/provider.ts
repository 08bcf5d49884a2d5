/** Identity provider: its discovered configuration and its keys. Calls the provider only to discover it and to load
 *  keys, both at most once in an interval, however many tokens ask for it. Source: OpenID Connect Discovery 1.0. */
import { compactVerify, createLocalJWKSet, errors, type JSONWebKeySet } from 'jose';
import { parseJsonText } from '#api/codec/json-text.ts';
import type { Clock } from '#api/kit/clock.ts';
import { isObject, textOf } from '#api/kit/object.ts';
import type { Claims, UnverifiedToken } from '../jwt.ts';
import type { HttpClient } from './http-client.ts';

/** `unknown`: no known key signed the token; another one may have. */
export type SignatureResult = 'good' | 'unknown' | 'undiscovered';

export interface Provider {
  readonly issuer: string;
  /** Verifies a signature with the known keys. Calls no server. */
  verify(token: UnverifiedToken): Promise<SignatureResult>;
  /** Discovers the provider if that has not succeeded, and loads its keys. Returns false, without effect, if the last
   *  attempt was less than an interval ago. @throws Error if the attempt fails */
  refresh(): Promise<boolean>;
}

export interface ProviderDeps {
  readonly clock: Clock;
  readonly http: Pick<HttpClient, 'get'>;
}

/** Interval between two attempts, as upstream. */
export const REFRESH_MS = 10_000;

/** Keys with which a token without key ID is verified. */
const MAX_KEYS = 16;

function parseMembers(text: string, url: string): Claims {
  let value: unknown;
  try {
    value = parseJsonText(text);
  } catch (cause) {
    throw new Error(`the response of ${url} is not JSON`, { cause });
  }
  if (!isObject(value)) throw new Error(`the response of ${url} is not an object`);
  return value;
}

function isKeySet(value: Claims): value is Claims & JSONWebKeySet {
  const { keys } = value;
  return Array.isArray(keys) && keys.every(isObject);
}

type FindKey = ReturnType<typeof createLocalJWKSet>;

/** Reports whether a key of the set signed the token. A token without key ID may fit several. */
async function isSigned(text: string, find: FindKey, algorithms: string[]): Promise<boolean> {
  try {
    await compactVerify(text, find, { algorithms });
    return true;
  } catch (thrown) {
    if (thrown instanceof errors.JWKSMultipleMatchingKeys) return isSignedByOneOf(text, thrown, algorithms);
    if (thrown instanceof errors.JOSEError || thrown instanceof TypeError || thrown instanceof DOMException)
      return false;
    throw thrown;
  }
}

async function isSignedByOneOf(
  text: string,
  keys: errors.JWKSMultipleMatchingKeys,
  algorithms: string[],
): Promise<boolean> {
  let tried = 0;
  for await (const key of keys) {
    tried += 1;
    if (tried > MAX_KEYS) return false;
    try {
      await compactVerify(text, key, { algorithms });
      return true;
    } catch (thrown) {
      if (!(thrown instanceof errors.JOSEError)) throw thrown;
    }
  }
  return false;
}

/** @param algorithms accepted algorithms of signatures */
export function createProvider(
  { clock, http }: ProviderDeps,
  issuer: string,
  algorithms: readonly string[],
): Provider {
  let keysUrl: string | undefined;
  let find: FindKey | undefined;
  let attemptMs = -Infinity;
  let inFlight: Promise<void> | undefined;

  async function discover(): Promise<string> {
    const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
    const found = parseMembers(await http.get(url), url);
    if (found['issuer'] !== issuer) {
      throw new Error(
        `issuer did not match the issuer returned by provider, expected ${JSON.stringify(issuer)} got ${JSON.stringify(textOf(found['issuer']))}`,
      );
    }
    const keys = textOf(found['jwks_uri']);
    if (keys === '') throw new Error(`the response of ${url} has no jwks_uri`);
    return keys;
  }

  async function attempt(): Promise<void> {
    keysUrl ??= await discover();
    const set = parseMembers(await http.get(keysUrl), keysUrl);
    if (!isKeySet(set)) throw new Error(`the response of ${keysUrl} is not a set of keys`);
    find = createLocalJWKSet(set);
  }

  return {
    issuer,
    async verify({ text, header }) {
      if (find === undefined) return 'undiscovered';
      if (!algorithms.includes(textOf(header['alg']))) return 'unknown';
      return (await isSigned(text, find, [...algorithms])) ? 'good' : 'unknown';
    },
    async refresh() {
      if (inFlight === undefined) {
        if (clock.monotonic() < attemptMs + REFRESH_MS) return false;
        attemptMs = clock.monotonic();
        inFlight = attempt().finally(() => {
          inFlight = undefined;
        });
      }
      await inFlight;
      return true;
    },
  };
}
