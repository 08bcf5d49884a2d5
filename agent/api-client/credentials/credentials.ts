/** Credentials of a request, and the interface of all their sources. */
import type { CertificatePair } from '#api/client-config/exec-credential.ts';

export interface Credential {
  /** Value of the Authorization header. */
  readonly authorization?: string;
  /** For the TLS handshake. An unchanged pair keeps its object identity. */
  readonly certificate?: CertificatePair;
}

export interface CredentialSource {
  /** Returns the current credentials; concurrent callers share one operation. Rejects with the signal's
   *  reason. */
  current(signal: AbortSignal): Promise<Credential>;
  /** Reports that the server responded with 401 to a request with `used`. Resolves when `current` returns
   *  newer credentials, if there are any. */
  refused(used: Credential, signal: AbortSignal): Promise<void>;
}

/** Reports whether two credentials are equivalent to the server. */
export function isSameCredential(left: Credential, right: Credential): boolean {
  return left.authorization === right.authorization && left.certificate === right.certificate;
}

/** Credentials that never change. */
export function fixedCredential(credential: Credential): CredentialSource {
  return { current: () => Promise.resolve(credential), refused: () => Promise.resolve() };
}

/** Combines sources: each part of the credentials comes from the first source that has it. */
export function joinCredentials(sources: readonly CredentialSource[]): CredentialSource {
  return {
    async current(signal) {
      let joined: Credential = {};
      for (const source of sources) {
        if (joined.authorization !== undefined && joined.certificate !== undefined) break;
        joined = { ...(await source.current(signal)), ...joined };
      }
      return joined;
    },
    async refused(used, signal) {
      for (const source of sources) await source.refused(used, signal);
    },
  };
}
