/** Minimal HTTP server: routes with parameters, JSON responses, streams, errors as Status objects. */
import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from 'node:http';
import { asError } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import { limitConnections } from '#api/kit/sockets/connection-limits.ts';
import { refuseMalformedRequests } from '#api/kit/sockets/malformed-requests.ts';
import { type ClaimedSocket, listenOnSocket } from '#api/kit/sockets/unix-socket.ts';
import { StatusError } from '#api/meta/status-error.ts';
import { type Match, matchRoute, type Route } from './routes.ts';

export interface HttpServerDeps {
  readonly log: Logger;
  readonly routes: readonly Route[];
}

/** Listen address. A unix socket is accessible to root only. */
export type Listen =
  | { readonly kind: 'unix'; readonly path: string }
  | { readonly kind: 'tcp'; readonly address: string; readonly port: number };

export interface RunningServer {
  /** The port in use, also for a TCP server configured with port 0. */
  readonly port: number;
  close(): Promise<void>;
}

/** Largest request body, in bytes. */
const LARGEST_BODY = 3 * 1024 * 1024;

/** A slow client cannot hold its connection while sending a request; responses have no time limit. */
const LIMITS: ServerOptions = {
  headersTimeout: 10_000,
  requestTimeout: 60_000,
  keepAliveTimeout: 5_000,
  connectionsCheckingInterval: 2_000,
  maxHeaderSize: 16 * 1024,
};
/** Anyone on the network can reach the health endpoint: file descriptors must be left for pods, so idle
 *  connections are closed first. */
const MOST_TCP_CONNECTIONS = 64;

export async function serveHttp(deps: HttpServerDeps, listen: Listen): Promise<RunningServer> {
  const server = createServer(LIMITS, (request, response) => void respond(deps, request, response));
  refuseMalformedRequests(server);
  let claim: ClaimedSocket | undefined;
  if (listen.kind === 'unix') claim = await listenOnSocket(server, listen.path);
  else {
    limitConnections(server, { most: MOST_TCP_CONNECTIONS });
    await listening(server, listen);
  }
  // A failed accept must not end the agent.
  server.on('error', (err) => deps.log.warn({ err }, 'Failed to accept connection'));
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
      await claim?.release();
    },
  };
}

function listening(server: Server, { address, port }: Listen & { kind: 'tcp' }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.once('listening', () => {
      server.off('error', reject);
      resolve();
    });
    server.listen(port, address);
  });
}

async function respond(
  { routes, log }: HttpServerDeps,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    const url = requestUrl(request.url ?? '/');
    const match = findMatch(routes, request.method ?? 'GET', url.pathname);
    await handle(match, url, request, response);
  } catch (thrown) {
    // The client has disconnected: there is no response to send and no error to log.
    if (response.destroyed) return;
    const error =
      thrown instanceof StatusError
        ? thrown
        : new StatusError('InternalError', asError(thrown).message, { cause: thrown });
    if (error.reason === 'InternalError') log.error({ err: thrown, path: request.url }, 'Request failed');
    if (response.headersSent) response.destroy();
    else sendJson(response, error.code, error.toStatus());
  }
}

/** Returns the raw request target: one that begins with two slashes is a path, not a host. @throws
 *  StatusError */
function requestUrl(target: string): URL {
  const url = target.startsWith('/') ? URL.parse(`http://agent${target}`) : null;
  if (url !== null) return url;
  throw new StatusError('BadRequest', 'the request target is not a path');
}

function findMatch(routes: readonly Route[], method: string, path: string): Match {
  const match = matchRoute(routes, method, path);
  if (match.kind === 'found') return match;
  if (match.kind === 'wrong-method')
    throw new StatusError('MethodNotAllowed', `${method} is not allowed on ${path}`);
  throw new StatusError('NotFound', `${path} not found`);
}

async function handle(
  match: Match,
  url: URL,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const gone = new AbortController();
  response.once('close', () => gone.abort(new Error('client disconnected')));
  const result = await match.route.handle({
    params: match.params,
    query: url.searchParams,
    body: () => readBody(request),
    signal: gone.signal,
  });
  switch (result.kind) {
    case 'json':
      return sendJson(response, 200, result.value);
    case 'text':
      response
        .writeHead(result.status ?? 200, { 'content-type': 'text/plain; charset=utf-8' })
        .end(result.text);
      return;
    case 'stream':
      return sendStream(response, result.chunks, result.contentType);
    default:
      result satisfies never;
  }
}

function sendJson(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(`${JSON.stringify(value)}\n`);
}

async function sendStream(
  response: ServerResponse,
  chunks: AsyncIterable<Uint8Array>,
  contentType: string,
): Promise<void> {
  response.writeHead(200, { 'content-type': contentType });
  response.flushHeaders();
  for await (const chunk of chunks) {
    if (response.destroyed) return;
    if (!response.write(chunk)) await drained(response);
  }
  response.end();
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off('drain', done);
      response.off('close', done);
      resolve();
    };
    response.on('drain', done);
    response.on('close', done);
  });
}

async function readBody(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > LARGEST_BODY) {
      throw new StatusError('RequestEntityTooLarge', `the body exceeds ${LARGEST_BODY} bytes`);
    }
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}
