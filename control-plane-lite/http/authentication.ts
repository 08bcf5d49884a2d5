/** Finds the credentials of a request and asks whose they are. */
import type { IncomingHttpHeaders } from 'node:http';
import { isFromForeignPage } from '#api/kit/origin.ts';
import { StatusError } from '#api/meta/status-error.ts';
import type { AuthenticationRequest, AuthenticationResult } from '../authn/contract.ts';
import type { UserInfo } from '../resources/contract.ts';
import type { ConnectionInfo } from './connection.ts';

export type Authenticate = (
  request: AuthenticationRequest,
) => AuthenticationResult | Promise<AuthenticationResult>;

/** Tokens are no longer than what fits into a header. */
const BASE64URL = /^[A-Za-z0-9_-]+$/;

/** A bad credential. The client learns no more than that it is bad. */
export class AuthenticationError extends StatusError {
  constructor(detail: string) {
    super('Unauthorized', 'Unauthorized', { cause: new Error(detail) });
  }
}

export interface SubprotocolToken {
  readonly token: string | undefined;
  /** What the client offers beside the token. */
  readonly protocols: readonly string[];
}

/** Browsers can send no `Authorization` with a WebSocket; they offer the token as a subprotocol, which is never
 *  chosen. `domain` is that of the API groups.
 *  @throws AuthenticationError */
export function readSubprotocols(header: string | undefined, domain: string): SubprotocolToken {
  if (header === undefined) return { token: undefined, protocols: [] };
  const prefix = `base64url.bearer.authorization.${domain}.`;
  const offered = header
    .split(',')
    .map((text) => text.trim())
    .filter((text) => text !== '');
  const protocols = offered.filter((text) => !text.startsWith(prefix));
  const tokens = offered.filter((text) => text.startsWith(prefix)).map((text) => text.slice(prefix.length));
  const [encoded] = tokens;
  if (encoded === undefined) return { token: undefined, protocols };
  if (tokens.length > 1) throw new AuthenticationError('more than one subprotocol holds a token');
  if (!BASE64URL.test(encoded))
    throw new AuthenticationError('the token in the subprotocol is not base64url');
  if (protocols.length === 0)
    throw new AuthenticationError('a subprotocol beside that of the token is missing');
  return { token: Buffer.from(encoded, 'base64url').toString('utf8'), protocols };
}

function headerToken(authorization: string | undefined): string | undefined {
  if (authorization === undefined) return undefined;
  const space = authorization.indexOf(' ');
  if (space !== 6 || authorization.slice(0, space).toLowerCase() !== 'bearer') return undefined;
  const token = authorization.slice(space + 1).trim();
  return token === '' ? undefined : token;
}

/** What a request shows of who its client is. The certificate of a browser says nothing of who made the page that opens
 *  a WebSocket: it counts for pages of this server only.
 *  @throws StatusError Forbidden for another page that shows nothing else
 *  @throws AuthenticationError */
export function authenticationRequest(
  headers: IncomingHttpHeaders,
  connection: ConnectionInfo,
  domain: string,
  isWebSocket: boolean,
): AuthenticationRequest {
  const token =
    headerToken(headers.authorization) ??
    (isWebSocket ? readSubprotocols(headers['sec-websocket-protocol'], domain).token : undefined);
  let { certificate } = connection;
  if (certificate !== undefined && isWebSocket && isFromForeignPage(headers.origin, headers.host)) {
    if (token === undefined) throw foreignPage(headers.origin);
    certificate = undefined;
  }
  return {
    headers,
    ...(token === undefined ? {} : { bearerToken: token }),
    ...(certificate === undefined ? {} : { certificate }),
    intermediates: connection.intermediates,
  };
}

const foreignPage = (origin = ''): StatusError =>
  new StatusError(
    'Forbidden',
    `a WebSocket of a page at ${JSON.stringify(origin.slice(0, 256))} cannot use the client certificate; send a token instead`,
  );

/** The user of a result.
 *  @throws AuthenticationError if there is none */
export function requireUser(result: AuthenticationResult): UserInfo {
  switch (result.kind) {
    case 'user':
      return result.user;
    case 'rejected':
      throw new AuthenticationError(result.message);
    case 'none':
      throw new AuthenticationError('no credentials that any method of authentication knows');
    default:
      return result satisfies never;
  }
}
