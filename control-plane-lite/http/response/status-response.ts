/** Status responses of failures. */

import type { Status } from '#api/gen/meta-v1.ts';
import { StatusError } from '#api/meta/status-error.ts';
import type { BytesResponse } from '../contract.ts';

/** Returns a Status in the format that the client accepts. */
export type EncodeStatus = (
  status: Status,
  accept: string | undefined,
) => Pick<BytesResponse, 'contentType' | 'json'> & { readonly body: Buffer };

export const encodeStatusAsJson: EncodeStatus = (status) => ({
  contentType: 'application/json',
  body: Buffer.from(JSON.stringify(status)),
});

function headersOf(error: StatusError): Record<string, string> {
  const headers: Record<string, string> = { 'X-Content-Type-Options': 'nosniff' };
  const { retryAfterSeconds } = error.details;
  if (retryAfterSeconds !== undefined && retryAfterSeconds > 0) {
    headers['Retry-After'] = String(retryAfterSeconds);
  }
  if (error.code === 401) headers['WWW-Authenticate'] = 'Bearer';
  return headers;
}

export function statusResponse(
  error: StatusError,
  accept: string | undefined,
  encode: EncodeStatus,
): BytesResponse {
  const encoded = encode(error.toStatus(), accept);
  return { kind: 'bytes', status: error.code, ...encoded, headers: headersOf(error) };
}

/** Returns the NotFound error of a path without a handler. */
export function pageNotFound(): BytesResponse {
  return {
    kind: 'bytes',
    status: 404,
    contentType: 'text/plain; charset=utf-8',
    body: Buffer.from('404 page not found\n'),
    headers: { 'X-Content-Type-Options': 'nosniff' },
  };
}

export function wrongMethod(allowed: readonly string[]): StatusError {
  return new StatusError(
    'MethodNotAllowed',
    `the server does not allow this method on the requested resource; it allows ${allowed.join(', ')}`,
  );
}

/** The request exceeded its timeout. */
export function timedOut(): StatusError {
  return new StatusError('Timeout', 'Timeout: request did not complete within the allotted timeout');
}

/** For requests that the shutdown of the server cuts short. */
export function shuttingDown(): StatusError {
  return new StatusError('ServiceUnavailable', 'the server is shutting down', {
    details: { retryAfterSeconds: 1 },
  });
}
