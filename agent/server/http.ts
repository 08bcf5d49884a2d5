/** A small HTTP server: routes with parameters, JSON answers, streams, errors as Status objects. */
import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from 'node:http';
import { asError } from '#api/kit/clock.ts';
import { limitConnections } from '#api/kit/connection-limits.ts';
import type { Logger } from '#api/kit/logger.ts';
import { type ClaimedSocket, listenOnSocket } from '#api/kit/unix-socket.ts';
import { StatusError } from '#api/meta/status-error.ts';
import { type Match, matchRoute, type Route } from './routes.ts';

export interface HttpServerDeps {
  readonly log: Logger;
  readonly routes: readonly Route[];
}

/** Where to listen. A unix socket is made for root alone. */
export type Listen =
  | { readonly kind: 'unix'; readonly path: string }
  | { readonly kind: 'tcp'; readonly address: string; readonly port: number };

export interface RunningServer {
  /** The port in use, for a TCP server that was given port 0. */
  readonly port: number;
  close(): Promise<void>;
}

/** Largest request body, in bytes. */
const LARGEST_BODY = 3 * 1024 * 1024;

/** A client that is slow to ask does not hold its connection for long; answers may take any time. */
const LIMITS: ServerOptions = {
  headersTimeout: 10_000,
  requestTimeout: 60_000,
  keepAliveTimeout: 5_000,
  connectionsCheckingInterval: 2_000,
  maxHeaderSize: 16 * 1024,
};
/** The health endpoint is open to everyone near: descriptors must be left for pods, and who only waits makes room. */
const MOST_TCP_CONNECTIONS = 64;

export async function serveHttp(deps: HttpServerDeps, listen: Listen): Promise<RunningServer> {
  const server = createServer(LIMITS, (request, response) => void answer(deps, request, response));
  let claim: ClaimedSocket | undefined;
  if (listen.kind === 'unix') claim = await listenOnSocket(server, listen.path);
  else {
    limitConnections(server, { most: MOST_TCP_CONNECTIONS });
    await listening(server, listen);
  }
  // A connection that could not be taken is no reason to end the agent.
  server.on('error', (err) => deps.log.warn({ err }, 'Connection was not accepted'));
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

async function answer(
  { routes, log }: HttpServerDeps,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    const url = requestUrl(request.url ?? '/');
    const match = findMatch(routes, request.method ?? 'GET', url.pathname);
    await handle(match, url, request, response);
  } catch (thrown) {
    // Nobody is left to be answered, and going away is no fault.
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

/** The target as it was sent: one that begins with two slashes names no host. @throws StatusError */
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
  throw new StatusError('NotFound', `there is nothing at ${path}`);
}

async function handle(
  match: Match,
  url: URL,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const gone = new AbortController();
  response.once('close', () => gone.abort(new Error('client went away')));
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
      throw new StatusError('RequestEntityTooLarge', `the body is larger than ${LARGEST_BODY} bytes`);
    }
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}
