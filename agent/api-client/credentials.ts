/** What proves who sends a request, whatever it comes from: the one shape of all sources of credentials. */
import type { CertificatePair } from '#api/client-config/exec-credential.ts';

export interface Credential {
  /** Value of the Authorization header. */
  readonly authorization?: string;
  /** For the TLS handshake. The same pair is the same object. */
  readonly certificate?: CertificatePair;
}

export interface CredentialSource {
  /** What to send now. Several callers share the work of getting it. Rejects with the signal's reason. */
  current(signal: AbortSignal): Promise<Credential>;
  /** The server answered 401 to a request with `used`. Resolves when `current` gives what is newer, if there is any. */
  refused(used: Credential, signal: AbortSignal): Promise<void>;
}

/** Whether two credentials prove the same to the server. */
export function isSameCredential(left: Credential, right: Credential): boolean {
  return left.authorization === right.authorization && left.certificate === right.certificate;
}

/** Credentials that never change. */
export function fixedCredential(credential: Credential): CredentialSource {
  return { current: () => Promise.resolve(credential), refused: () => Promise.resolve() };
}

/** One source for the parts of several: of each part the first source that has it is asked. */
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
