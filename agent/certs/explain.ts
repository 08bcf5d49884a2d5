/** Says why the API server gives nothing, in words that tell what to do: each cause has a message of its own. */
import { asError } from '#api/kit/clock.ts';
import { ApiRequestError, ServerUnreachableError } from '../api-client/errors.ts';
import { CertificateError, type CertificateFault } from './errors.ts';

export interface FailurePlace {
  readonly server: string;
  /** How we prove ourselves there. */
  readonly credential: 'token' | 'certificate';
  /** The server's own time, in ms since the epoch; `undefined` if it does not tell. Asked without any trust. */
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

/** Clocks may differ by this without being to blame, in ms. */
const TOLERATED_SKEW_MS = 60_000;

/** Codes of an error and of what caused it, outermost first. */
export function codesOf(error: unknown): readonly string[] {
  const codes: string[] = [];
  let current: unknown = error;
  for (let depth = 0; depth < 6 && current instanceof Error; depth += 1) {
    if ('code' in current && typeof current.code === 'string') codes.push(current.code);
    current =
      current.cause ?? (current instanceof AggregateError ? (current.errors[0] as unknown) : undefined);
  }
  return codes;
}

/** The failure as a CertificateError where its cause is known, or as it is. */
export async function explainFailure(
  thrown: unknown,
  place: FailurePlace,
  signal: AbortSignal,
): Promise<Error> {
  const error = asError(thrown);
  if (error instanceof ApiRequestError) return explainAnswer(error, place);
  if (!(error instanceof ServerUnreachableError)) return error;
  const codes = codesOf(error);
  const said = (reason: CertificateFault, message: string): CertificateError =>
    new CertificateError(reason, message, { cause: error });
  const { server } = place;
  if (codes.some((code) => UNTRUSTED.has(code))) {
    return said(
      'AuthorityMismatch',
      `the certificate of ${server} is not from the authority that is trusted: it is another server, or its authority was changed`,
    );
  }
  if (codes.includes(OTHER_NAME)) {
    return said('ServerNameMismatch', `the certificate of ${server} is for other names: ${error.message}`);
  }
  const timeCode = codes.find((code) => OUT_OF_TIME.has(code));
  if (timeCode !== undefined) return said(...(await explainTime(timeCode, place, signal)));
  return said('ServerAway', `${server} is away: ${error.message}`);
}

function explainAnswer(error: ApiRequestError, { server, credential }: FailurePlace): Error {
  if (error.status === 401) {
    return credential === 'token'
      ? new CertificateError(
          'TokenRefused',
          `${server} refused the bootstrap token: it has expired or is unknown there; make another one`,
          { cause: error },
        )
      : new CertificateError(
          'CertificateRefused',
          `${server} refused the client certificate: it has expired there, or is from another authority; join again`,
          { cause: error },
        );
  }
  if (error.status !== 403) return error;
  const message = `${server} lets this node ask for no certificates: ${error.message}`;
  return new CertificateError('NotPermitted', message, { cause: error });
}

async function explainTime(
  code: string,
  { server, serverTime, now }: FailurePlace,
  signal: AbortSignal,
): Promise<readonly [CertificateFault, string]> {
  const serverMs = await serverTime(signal);
  const nowMs = now();
  const state = code === 'CERT_HAS_EXPIRED' ? 'has expired' : 'is not valid yet';
  if (serverMs !== undefined && Math.abs(serverMs - nowMs) > TOLERATED_SKEW_MS) {
    const times = `${new Date(nowMs).toISOString()} here and ${new Date(serverMs).toISOString()} there`;
    return [
      'ClockSkew',
      `by this machine's clock the certificate of ${server} ${state}, but the clocks differ, ${times}: set the clock`,
    ];
  }
  const told = serverMs === undefined ? '' : ', and the clocks agree';
  return [
    'ServerCertificateInvalid',
    `the certificate of ${server} ${state}${told}: it must be renewed there`,
  ];
}
