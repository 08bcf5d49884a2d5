/** Issues service account tokens. */
import type { KeyObject } from 'node:crypto';
import { claimsOf, type StoredSubject, storedClaimsOf, type TokenSubject } from './claims.ts';
import { signToken, type TokenKey } from './jwt.ts';

export interface TokenIssuer {
  /** Audiences of tokens whose request specifies none. */
  readonly audiences: readonly string[];
  /** `nowMs`: beginning of the validity. `seconds`: its length. */
  readonly issue: (
    subject: TokenSubject,
    audiences: readonly string[],
    nowMs: number,
    seconds: number,
  ) => { readonly token: string; readonly expiresMs: number };
  /** Issues a token without expiry for a secret. */
  readonly issueStored: (subject: StoredSubject) => string;
}

export interface TokenIssuerOptions {
  readonly privateKey: KeyObject;
  readonly key: TokenKey;
  readonly issuer: string;
  /** Issuer of the tokens in secrets. */
  readonly storedIssuer: string;
  readonly audiences: readonly string[];
  /** Domain of the platform's claims. */
  readonly domain: string;
}

export function createTokenIssuer({
  privateKey,
  key,
  issuer,
  storedIssuer,
  audiences,
  domain,
}: TokenIssuerOptions): TokenIssuer {
  return {
    audiences,
    issue(subject, meant, nowMs, seconds) {
      const issuedSeconds = Math.floor(nowMs / 1000);
      const expiresSeconds = issuedSeconds + seconds;
      const terms = { ...subject, issuer, audiences: meant, issuedSeconds, expiresSeconds };
      return { token: signToken(claimsOf(terms, domain), privateKey, key), expiresMs: expiresSeconds * 1000 };
    },
    issueStored: (subject) => signToken(storedClaimsOf(subject, storedIssuer, domain), privateKey, key),
  };
}
