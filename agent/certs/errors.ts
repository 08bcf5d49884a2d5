/** Why there is no certificate, in words that say what to do. */

export type CertificateFault =
  /** The bootstrap token is expired or unknown. */
  | 'TokenRefused'
  /** The server does not know the client certificate's authority, or it ran out. */
  | 'CertificateRefused'
  | 'NotPermitted'
  | 'RequestDenied'
  | 'RequestFailed'
  /** There is a request of that name that is another's. */
  | 'RequestTaken'
  | 'AuthorityMismatch'
  | 'ServerNameMismatch'
  | 'ClockSkew'
  | 'ServerCertificateInvalid'
  | 'ServerAway'
  /** What was issued is no certificate of our key. */
  | 'BadCertificate'
  | 'CertificateExpired';

/** Faults that pass by themselves; the others wait for a person. */
const PASSING: ReadonlySet<CertificateFault> = new Set(['ServerAway']);

/** A certificate could not be had. */
export class CertificateError extends Error {
  override readonly name = 'CertificateError';
  readonly reason: CertificateFault;
  /** Name of the request that it is about, if there is one. */
  readonly request: string | undefined;

  constructor(reason: CertificateFault, message: string, options: ErrorOptions & { request?: string } = {}) {
    super(message, options);
    this.reason = reason;
    this.request = options.request;
  }

  /** Whether it may pass without anybody's doing. */
  get retryable(): boolean {
    return PASSING.has(this.reason);
  }
}
