/** Errors of obtaining a certificate; their messages name the remedy. */

export type CertificateErrorReason =
  /** The bootstrap token has expired or is unknown. */
  | 'TokenRefused'
  /** The server does not trust the CA of the client certificate, or the certificate has expired. */
  | 'CertificateRefused'
  | 'NotPermitted'
  | 'RequestDenied'
  | 'RequestFailed'
  /** A request with this name exists and belongs to another client. */
  | 'RequestTaken'
  | 'AuthorityMismatch'
  | 'ServerNameMismatch'
  | 'ClockSkew'
  | 'ServerCertificateInvalid'
  | 'ServerAway'
  /** The issued certificate does not match our key. */
  | 'BadCertificate'
  | 'CertificateExpired';

/** Transient errors; the others require an administrator. */
const PASSING: ReadonlySet<CertificateErrorReason> = new Set(['ServerAway']);

/** A certificate could not be obtained. */
export class CertificateError extends Error {
  override readonly name = 'CertificateError';
  readonly reason: CertificateErrorReason;
  /** Name of the certificate request, if there is one. */
  readonly request: string | undefined;

  constructor(
    reason: CertificateErrorReason,
    message: string,
    options: ErrorOptions & { request?: string } = {},
  ) {
    super(message, options);
    this.reason = reason;
    this.request = options.request;
  }

  /** Whether the error may pass without intervention. */
  get retryable(): boolean {
    return PASSING.has(this.reason);
  }
}
