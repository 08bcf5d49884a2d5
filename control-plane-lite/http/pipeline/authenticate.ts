/** Authentication step: collects the credentials of a request and authenticates them. */
import type { IncomingHttpHeaders } from 'node:http';
import { isFromForeignPage } from '#api/kit/sockets/origin.ts';
import { StatusError } from '#api/meta/status-error.ts';
import type { AuthenticationRequest, AuthenticationResult } from '../../authn/contract.ts';
import { ANONYMOUS } from '../../authn/users.ts';
import type { UserInfo } from '../../resources/contract.ts';
import type { ConnectionInfo } from '../connection/exchange.ts';
import { AuthenticationError } from '../request/authentication-error.ts';
import type { ServerRequest } from '../request/server-request.ts';
import { readSubprotocols } from '../request/subprotocols.ts';

export type Authenticate = (
  request: AuthenticationRequest,
) => AuthenticationResult | Promise<AuthenticationResult>;

export interface AuthenticateDeps {
  readonly authenticate: Authenticate;
  /** Domain of the API groups in the server's vocabulary. */
  readonly domain: string;
}

/** @throws AuthenticationError, StatusError Forbidden */
export async function authenticate(deps: AuthenticateDeps, request: ServerRequest): Promise<void> {
  const { connection, upgrade } = request.exchange;
  const isUpgrade = upgrade !== undefined;
  const credentials = authenticationRequest(request.headers, connection, deps.domain, isUpgrade);
  const result = deps.authenticate(credentials);
  request.user = requireUser(result instanceof Promise ? await result : result);
  if (!connection.proven && request.user.name !== ANONYMOUS.name) connection.prove();
  request.originalUser = request.user;
}

function headerToken(authorization: string | undefined): string | undefined {
  if (authorization === undefined) return undefined;
  const space = authorization.indexOf(' ');
  if (space !== 6 || authorization.slice(0, space).toLowerCase() !== 'bearer') return undefined;
  const token = authorization.slice(space + 1).trim();
  return token === '' ? undefined : token;
}

/** Returns the credentials of a request. A browser sends its client certificate for any page that opens a
 *  WebSocket, so the certificate counts only for pages of this server.
 *  @throws StatusError Forbidden for a page of another origin without other credentials
 *  @throws AuthenticationError */
function authenticationRequest(
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
    `a WebSocket opened by a page at ${JSON.stringify(origin.slice(0, 256))} cannot use the client certificate; send a token instead`,
  );

/** Returns the user of a result.
 *  @throws AuthenticationError if there is none */
function requireUser(result: AuthenticationResult): UserInfo {
  switch (result.kind) {
    case 'user':
      return result.user;
    case 'rejected':
      throw new AuthenticationError(result.message);
    case 'none':
      throw new AuthenticationError('no authenticator recognizes the credentials');
    default:
      return result satisfies never;
  }
}
