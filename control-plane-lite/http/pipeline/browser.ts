/** Headers for browsers: strict transport security, and permission for pages of other origins to read responses, with
 *  the response to their preflight requests. Upgrades get none. Source: upstream's HSTS and CORS filters, release 1.24. */
import type { BytesResponse } from '../contract.ts';
import type { ServerRequest } from '../request/server-request.ts';

export interface BrowserPolicy {
  /** Value of the header; empty: none. */
  readonly transportSecurity: string;
  readonly allowsOrigin: (origin: string) => boolean;
}

export interface BrowserDeps {
  /** Absent: no headers. */
  readonly browser?: BrowserPolicy | undefined;
}

const ALLOWED_HEADERS =
  'Content-Type, Content-Length, Accept-Encoding, X-CSRF-Token, Authorization, X-Requested-With, If-Modified-Since';
/** What pages of an allowed origin may do, as a flat list of headers. */
const PERMISSIONS: readonly string[] = Object.entries({
  'Access-Control-Allow-Methods': 'POST, GET, OPTIONS, PUT, DELETE, PATCH',
  'Access-Control-Allow-Headers': ALLOWED_HEADERS,
  'Access-Control-Expose-Headers': 'Date',
  'Access-Control-Allow-Credentials': 'true',
}).flat();

const PREFLIGHT: BytesResponse = { kind: 'bytes', status: 204, contentType: 'text/plain', body: [] };

/** Adds the headers to the response, whatever that will be. Returns the response to a preflight request of an allowed
 *  origin: browsers send these without credentials. */
export function greetBrowser(
  { transportSecurity, allowsOrigin }: BrowserPolicy,
  request: ServerRequest,
): BytesResponse | undefined {
  const headers = transportSecurity === '' ? [] : ['Strict-Transport-Security', transportSecurity];
  request.extraHeaders = headers;
  const { origin } = request.headers;
  if (origin === undefined || origin === '' || !allowsOrigin(origin)) return undefined;
  headers.push('Access-Control-Allow-Origin', origin, ...PERMISSIONS);
  return request.method === 'OPTIONS' ? PREFLIGHT : undefined;
}
