/** HTTP server behind the ports of the node server: accepts connections, authorizes requests, finds the
 *  endpoint and responds. Errors are plain text, as upstream clients expect. */
import type { IncomingMessage, Server, ServerOptions, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { asError } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import { limitConnections } from '#api/kit/sockets/connection-limits.ts';
import { refuseMalformedRequests } from '#api/kit/sockets/malformed-requests.ts';
import { StatusError } from '#api/meta/status-error.ts';
import { AccessError, type Admit, type Credentials } from './access.ts';
import { findEndpoint, type NodeEndpoint, type NodeRequest, type NodeResponse } from './endpoint.ts';
import { passUpgrade, writeRejection } from './pass-upgrade.ts';
import { ANONYMOUS } from './users.ts';

export interface ServeDeps {
  readonly log: Logger;
  readonly endpoints: readonly NodeEndpoint[];
  /** Absent: every request is authorized. */
  readonly admit?: Admit;
  readonly credentials: (message: IncomingMessage) => Credentials;
  /** Idle timeout of streaming connections, in ms; 0 disables it. */
  readonly streamIdleMs: number;
}

/** A slow client cannot hold its connection while sending a request; responses have no time limit. */
export const LIMITS: ServerOptions = {
  headersTimeout: 10_000,
  requestTimeout: 60_000,
  keepAliveTimeout: 60_000,
  connectionsCheckingInterval: 2_000,
  maxHeaderSize: 32 * 1024,
};
/** Leaves file descriptors for pods. No address can use up all connections, and unauthenticated clients are
 *  disconnected first. */
export const MOST_CONNECTIONS = 512;

/** Maximum size of a request body, in characters. */
const LONGEST_BODY = 1024;

const UPGRADES = /^(?:websocket|spdy\/3\.1)$/i;

interface Refusal {
  readonly status: number;
  readonly message: string;
}

function refusalOf(log: Logger, thrown: unknown, path: string): Refusal {
  if (thrown instanceof AccessError) return { status: thrown.status, message: thrown.message };
  if (thrown instanceof StatusError && thrown.code < 500) {
    return { status: thrown.code, message: thrown.message };
  }
  log.warn({ err: asError(thrown), path }, 'Node server request failed');
  return { status: 500, message: asError(thrown).message };
}

interface Target {
  readonly path: string;
  readonly parts: readonly string[];
  readonly query: URLSearchParams;
}

/** Parses the request line; decodes the path once. @throws StatusError BadRequest */
export function readTarget(target: string): Target {
  const mark = target.indexOf('?');
  const encoded = mark < 0 ? target : target.slice(0, mark);
  const bad = new StatusError('BadRequest', 'the request target is not a path');
  if (!encoded.startsWith('/')) throw bad;
  let path: string;
  let parts: string[];
  try {
    path = decodeURIComponent(encoded);
    parts = encoded.slice(1).split('/').map(decodeURIComponent);
  } catch (cause) {
    throw new StatusError('BadRequest', 'the request target contains an invalid escape', { cause });
  }
  // Reject ambiguous segments: permissions depend on the path, so every reader must see the same one.
  const isOdd = parts.some((part) => part === '.' || part === '..' || part.includes('/'));
  if (isOdd || path.includes('\0')) throw bad;
  return { path, parts, query: new URLSearchParams(mark < 0 ? '' : target.slice(mark + 1)) };
}

async function readBody(message: IncomingMessage): Promise<string> {
  let text = '';
  message.setEncoding('utf8');
  for await (const part of message) {
    text += String(part);
    if (text.length > LONGEST_BODY) throw new StatusError('RequestEntityTooLarge', 'the body is too large');
  }
  return text;
}

interface Serving extends ServeDeps {
  /** Marks the connection as authenticated. */
  readonly prove: (socket: Socket) => void;
}

async function find(
  { endpoints, admit, credentials, prove }: Serving,
  message: IncomingMessage,
  isUpgrade: boolean,
  signal: AbortSignal,
): Promise<NodeResponse> {
  const method = message.method ?? 'GET';
  const { path, parts, query } = readTarget(message.url ?? '/');
  const user = await admit?.(method, path, credentials(message));
  if (user !== undefined && user.name !== ANONYMOUS.name) prove(message.socket);
  const endsInSlash = parts.at(-1) === '';
  const found = findEndpoint(endpoints, endsInSlash ? parts.slice(0, -1) : parts);
  if (found === undefined) return { kind: 'text', text: '404 page not found\n', status: 404 };
  const { endpoint, rest } = found;
  if (!endpoint.methods.includes(method))
    throw new StatusError('MethodNotAllowed', '405: Method Not Allowed');
  const body = (): Promise<string> => readBody(message);
  const request: NodeRequest = { method, rest, endsInSlash, query, isUpgrade, body, signal };
  return endpoint.handle(request);
}

async function sendResponse(response: ServerResponse, result: NodeResponse): Promise<void> {
  switch (result.kind) {
    case 'text': {
      const { text, contentType = 'text/plain; charset=utf-8', status = 200 } = result;
      response.writeHead(status, { 'content-type': contentType, 'x-content-type-options': 'nosniff' });
      return void response.end(text);
    }
    case 'json':
      response.writeHead(200, { 'content-type': 'application/json' });
      return void response.end(JSON.stringify(result.value));
    case 'stream':
      response.writeHead(200, { 'content-type': result.contentType });
      response.flushHeaders();
      return pipeline(result.chunks, response);
    case 'upgrade':
      throw new StatusError('BadRequest', 'Upgrade request required');
    default:
      return result satisfies never;
  }
}

async function onRequest(deps: Serving, message: IncomingMessage, response: ServerResponse): Promise<void> {
  const gone = new AbortController();
  response.once('close', () => gone.abort(new Error('client disconnected')));
  // A disconnect is handled through the close event.
  response.on('error', () => undefined);
  try {
    await sendResponse(response, await find(deps, message, false, gone.signal));
  } catch (thrown) {
    if (response.headersSent || response.destroyed) return void response.destroy();
    const { status, message: reason } = refusalOf(deps.log, thrown, message.url ?? '');
    const type = 'text/plain; charset=utf-8';
    response.writeHead(status, { 'content-type': type, 'x-content-type-options': 'nosniff' });
    response.end(`${reason}\n`);
  }
}

async function onUpgrade(
  deps: Serving,
  message: IncomingMessage,
  socket: Duplex,
  head: Buffer,
): Promise<void> {
  const gone = new AbortController();
  socket.once('close', () => gone.abort(new Error('client disconnected')));
  socket.on('error', () => undefined);
  try {
    const result = await find(deps, message, true, gone.signal);
    if (result.kind !== 'upgrade') {
      throw new StatusError('BadRequest', 'this request does not offer a supported protocol upgrade');
    }
    await passUpgrade({ url: result.url, message, socket, head, idleMs: deps.streamIdleMs }, gone.signal);
  } catch (thrown) {
    if (socket.destroyed) return;
    const { status, message: reason } = refusalOf(deps.log, thrown, message.url ?? '');
    writeRejection(socket, status, `${reason}\n`);
  }
}

/** Handles requests of a server that is not listening yet. */
export function attach(server: Server, deps: ServeDeps): void {
  const limits = limitConnections(server, { most: MOST_CONNECTIONS });
  refuseMalformedRequests(server);
  const serving: Serving = { ...deps, prove: (socket) => limits.prove(socket) };
  server.on('request', (message, response) => void onRequest(serving, message, response));
  server.on('upgrade', (message: IncomingMessage, socket: Duplex, head: Buffer) => {
    void onUpgrade(serving, message, socket, head);
  });
  Object.assign(server, {
    shouldUpgradeCallback: (message: IncomingMessage) => UPGRADES.test(message.headers.upgrade ?? ''),
  });
}

export interface Listening {
  readonly port: number;
  close(): Promise<void>;
}

/** @throws the system error, such as for an address in use */
export async function listen(server: Server, address: string, port: number, log: Logger): Promise<Listening> {
  const upgraded = new Set<Duplex>();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, address, () => {
      server.off('error', reject);
      resolve();
    });
  });
  server.on('error', (err) => log.warn({ err }, 'Failed to accept connection'));
  server.on('upgrade', (_message: IncomingMessage, socket: Socket) => {
    upgraded.add(socket);
    socket.once('close', () => upgraded.delete(socket));
  });
  const bound = server.address();
  return {
    port: typeof bound === 'object' && bound !== null ? bound.port : 0,
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      for (const socket of upgraded) socket.destroy();
      await closed;
    },
  };
}
