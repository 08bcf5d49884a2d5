/** Authentication step: collects the credentials of a request and authenticates them. */

import { isFromForeignPage } from '#api/kit/sockets/origin.ts';
import { StatusError } from '#api/meta/status-error.ts';
import type { AuthenticatedUser, AuthenticationRequest, AuthenticationResult } from '../../authn/contract.ts';
import { ANONYMOUS } from '../../authn/users.ts';
import type { Exchange } from '../connection/exchange.ts';
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
  const { connection } = request.exchange;
  const outcome = deps.authenticate(authenticationRequest(request.exchange, deps.domain));
  const result = requireUser(outcome instanceof Promise ? await outcome : outcome);
  request.user = result.user;
  if (result.consumes !== undefined) removeHeaders(request.exchange, result.consumes);
  if (result.annotations !== undefined) annotate(request, result.annotations);
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
  { headers, rawHeaders, connection, upgrade }: Exchange,
  domain: string,
): AuthenticationRequest {
  const isWebSocket = upgrade !== undefined;
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
    rawHeaders,
    flow: connection.remoteAddress,
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

/** Removes headers that identified the user, so that no later step and no other server trusts them again. */
function removeHeaders({ headers, rawHeaders }: Exchange, consumes: (header: string) => boolean): void {
  for (const name of Object.keys(headers)) if (consumes(name)) delete headers[name];
  const kept: string[] = [];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    if (!consumes(name.toLowerCase())) kept.push(name, rawHeaders[index + 1] ?? '');
  }
  rawHeaders.splice(0, rawHeaders.length, ...kept);
}

function annotate(request: ServerRequest, annotations: Readonly<Record<string, string>>): void {
  for (const [key, value] of Object.entries(annotations)) request.annotate(key, value);
}

/** Returns the result if it is a user.
 *  @throws AuthenticationError if there is none */
function requireUser(result: AuthenticationResult): AuthenticatedUser {
  switch (result.kind) {
    case 'user':
      return result;
    case 'rejected':
      throw new AuthenticationError(result.message);
    case 'none':
      throw new AuthenticationError('no authenticator recognizes the credentials');
    default:
      return result satisfies never;
  }
}
