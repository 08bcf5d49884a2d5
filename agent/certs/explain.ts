/** Maps failures of API server requests to certificate errors: each cause has its own message with the
 *  remedy. */

import { asError, errorCode } from '#api/kit/errno.ts';
import { ApiRequestError, ServerUnreachableError } from '../api-client/errors.ts';
import { CertificateError, type CertificateErrorReason } from './errors.ts';

export interface FailurePlace {
  readonly server: string;
  /** Credentials of the failed request. */
  readonly credential: 'token' | 'certificate';
  /** Returns the time of the server, in ms since the epoch; `undefined` if unknown. Requested without
   *  trusting the server. */
  readonly serverTime: (signal: AbortSignal) => Promise<number | undefined>;
  readonly now: () => number;
}

const UNTRUSTED: ReadonlySet<string> = new Set([
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'CERT_SIGNATURE_FAILURE',
  'CERT_UNTRUSTED',
  'INVALID_CA',
]);
const OTHER_NAME = 'ERR_TLS_CERT_ALTNAME_INVALID';
const OUT_OF_TIME: ReadonlySet<string> = new Set(['CERT_HAS_EXPIRED', 'CERT_NOT_YET_VALID']);

/** Maximum clock difference that is not considered the cause, in ms. */
const TOLERATED_SKEW_MS = 60_000;

/** Codes of an error and its causes, outermost first. */
function codesOf(error: unknown): readonly string[] {
  const codes: string[] = [];
  let current: unknown = error;
  for (let depth = 0; depth < 6 && current instanceof Error; depth += 1) {
    const code = errorCode(current);
    if (code !== undefined) codes.push(code);
    current =
      current.cause ?? (current instanceof AggregateError ? (current.errors[0] as unknown) : undefined);
  }
  return codes;
}

/** Returns a CertificateError for a known cause, otherwise the failure itself. */
export async function explainFailure(
  thrown: unknown,
  place: FailurePlace,
  signal: AbortSignal,
): Promise<Error> {
  const error = asError(thrown);
  if (error instanceof ApiRequestError) return explainResponse(error, place);
  if (!(error instanceof ServerUnreachableError)) return error;
  const codes = codesOf(error);
  const said = (reason: CertificateErrorReason, message: string): CertificateError =>
    new CertificateError(reason, message, { cause: error });
  const { server } = place;
  if (codes.some((code) => UNTRUSTED.has(code))) {
    return said(
      'AuthorityMismatch',
      `the certificate of ${server} is not signed by the trusted CA: it is another server, or its CA has changed`,
    );
  }
  if (codes.includes(OTHER_NAME)) {
    return said('ServerNameMismatch', `the certificate of ${server} is for other names: ${error.message}`);
  }
  const timeCode = codes.find((code) => OUT_OF_TIME.has(code));
  if (timeCode !== undefined) return said(...(await explainTime(timeCode, place, signal)));
  return said('ServerAway', `${server} is unavailable: ${error.message}`);
}

function explainResponse(error: ApiRequestError, { server, credential }: FailurePlace): Error {
  if (error.status === 401) {
    return credential === 'token'
      ? new CertificateError(
          'TokenRefused',
          `${server} rejected the bootstrap token: it has expired or is unknown to the server; create another one`,
          { cause: error },
        )
      : new CertificateError(
          'CertificateRefused',
          `${server} rejected the client certificate: it has expired by the server's clock, or is from another CA; join again`,
          { cause: error },
        );
  }
  if (error.status !== 403) return error;
  const message = `${server} does not allow this node to request certificates: ${error.message}`;
  return new CertificateError('NotPermitted', message, { cause: error });
}

async function explainTime(
  code: string,
  { server, serverTime, now }: FailurePlace,
  signal: AbortSignal,
): Promise<readonly [CertificateErrorReason, string]> {
  const serverMs = await serverTime(signal);
  const nowMs = now();
  const state = code === 'CERT_HAS_EXPIRED' ? 'has expired' : 'is not valid yet';
  if (serverMs !== undefined && Math.abs(serverMs - nowMs) > TOLERATED_SKEW_MS) {
    const times = `${new Date(nowMs).toISOString()} on this node and ${new Date(serverMs).toISOString()} on the server`;
    return [
      'ClockSkew',
      `according to the clock of this machine the certificate of ${server} ${state}, but the clocks differ, ${times}: set the clock`,
    ];
  }
  const agreement = serverMs === undefined ? '' : ', and the clocks agree';
  return [
    'ServerCertificateInvalid',
    `the certificate of ${server} ${state}${agreement}: renew it on the server`,
  ];
}
