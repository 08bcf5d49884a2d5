/** Issues service account tokens. */
import type { KeyObject } from 'node:crypto';
import { signToken, type TokenKey } from '../jwt.ts';
import { claimsOf, type StoredSubject, storedClaimsOf, type TokenSubject } from './claims.ts';

/** Validity of a new token. */
export interface TokenTerm {
  /** Beginning, wall time in ms. */
  readonly nowMs: number;
  readonly seconds: number;
  /** Requested validity, if it is shorter: clients that use the token for longer are reported. */
  readonly warnAfterSeconds?: number | undefined;
}

export interface TokenIssuer {
  /** Audiences of tokens whose request specifies none. */
  readonly audiences: readonly string[];
  readonly issue: (
    subject: TokenSubject,
    audiences: readonly string[],
    term: TokenTerm,
  ) => Promise<{ readonly token: string; readonly expiresMs: number }>;
  /** Issues a token without expiry for a secret. */
  readonly issueStored: (subject: StoredSubject) => Promise<string>;
}

/** Key that signs tokens. */
export interface SigningKey {
  readonly privateKey: KeyObject;
  readonly key: TokenKey;
}

export interface TokenIssuerOptions {
  /** Read for each token, so that the key can be replaced. */
  readonly signingKey: () => SigningKey;
  readonly issuer: string;
  /** Issuer of the tokens in secrets. */
  readonly storedIssuer: string;
  readonly audiences: readonly string[];
  /** Domain of the platform's claims. */
  readonly domain: string;
}

export function createTokenIssuer(options: TokenIssuerOptions): TokenIssuer {
  const { issuer, storedIssuer, audiences, domain } = options;
  const sign = (claims: object): Promise<string> => {
    const { privateKey, key } = options.signingKey();
    return signToken(claims, privateKey, key);
  };
  return {
    audiences,
    async issue(subject, meant, { nowMs, seconds, warnAfterSeconds }) {
      const issuedSeconds = Math.floor(nowMs / 1000);
      const expiresSeconds = issuedSeconds + seconds;
      const terms = { ...subject, issuer, audiences: meant, issuedSeconds, expiresSeconds };
      const warning = warnAfterSeconds === undefined ? undefined : issuedSeconds + warnAfterSeconds;
      const token = await sign(claimsOf({ ...terms, warnAfterSeconds: warning }, domain));
      return { token, expiresMs: expiresSeconds * 1000 };
    },
    issueStored: (subject) => sign(storedClaimsOf(subject, storedIssuer, domain)),
  };
}
