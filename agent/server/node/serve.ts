/** The HTTP server behind the agent's ports: takes connections, lets requests through, finds the endpoint, answers.
 *  Errors are plain text, as the field's clients of this server expect. */
import type { IncomingMessage, Server, ServerOptions, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { asError } from '#api/kit/clock.ts';
import { limitConnections } from '#api/kit/connection-limits.ts';
import type { Logger } from '#api/kit/logger.ts';
import { StatusError } from '#api/meta/status-error.ts';
import { AccessError, type Admit, type Credentials } from './access.ts';
import { findEndpoint, type NodeAnswer, type NodeEndpoint, type NodeRequest } from './endpoint.ts';
import { passUpgrade, writeRefusal } from './pass-upgrade.ts';
import { ANONYMOUS } from './users.ts';

export interface ServeDeps {
  readonly log: Logger;
  readonly endpoints: readonly NodeEndpoint[];
  /** Absent: everyone may do everything that there is. */
  readonly admit?: Admit;
  readonly credentials: (message: IncomingMessage) => Credentials;
  /** Idle time after which a streaming connection is closed, in ms; 0: never. */
  readonly streamIdleMs: number;
}

/** A client that is slow to ask does not hold its connection for long; answers may take any time. */
export const LIMITS: ServerOptions = {
  headersTimeout: 10_000,
  requestTimeout: 60_000,
  keepAliveTimeout: 60_000,
  connectionsCheckingInterval: 2_000,
  maxHeaderSize: 32 * 1024,
};
/** Descriptors must be left for pods. No address has all of them, and clients that have not shown who they are make room
 *  for others. */
export const MOST_CONNECTIONS = 512;

/** Nothing that this server takes is longer, in characters. */
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
  log.warn({ err: asError(thrown), path }, 'Request to the agent’s server failed');
  return { status: 500, message: asError(thrown).message };
}

interface Asked {
  readonly path: string;
  readonly parts: readonly string[];
  readonly query: URLSearchParams;
}

/** What stands in the request line, decoded once. @throws StatusError BadRequest */
export function readTarget(target: string): Asked {
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
    throw new StatusError('BadRequest', 'the request target has an escape that is no text', { cause });
  }
  // Read in one way only, whoever reads it: permissions go by the path.
  const isOdd = parts.some((part) => part === '.' || part === '..' || part.includes('/'));
  if (isOdd || path.includes('\0')) throw bad;
  return { path, parts, query: new URLSearchParams(mark < 0 ? '' : target.slice(mark + 1)) };
}

async function readBody(message: IncomingMessage): Promise<string> {
  let text = '';
  message.setEncoding('utf8');
  for await (const part of message) {
    text += String(part);
    if (text.length > LONGEST_BODY) throw new StatusError('RequestEntityTooLarge', 'the body is too long');
  }
  return text;
}

interface Serving extends ServeDeps {
  /** The client on this connection has shown who it is. */
  readonly prove: (socket: Socket) => void;
}

async function find(
  { endpoints, admit, credentials, prove }: Serving,
  message: IncomingMessage,
  isUpgrade: boolean,
  signal: AbortSignal,
): Promise<NodeAnswer> {
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

async function answerPlain(response: ServerResponse, answer: NodeAnswer): Promise<void> {
  switch (answer.kind) {
    case 'text': {
      const { text, contentType = 'text/plain; charset=utf-8', status = 200 } = answer;
      response.writeHead(status, { 'content-type': contentType, 'x-content-type-options': 'nosniff' });
      return void response.end(text);
    }
    case 'json':
      response.writeHead(200, { 'content-type': 'application/json' });
      return void response.end(JSON.stringify(answer.value));
    case 'stream':
      response.writeHead(200, { 'content-type': answer.contentType });
      response.flushHeaders();
      return pipeline(answer.chunks, response);
    case 'passage':
      throw new StatusError('BadRequest', 'Upgrade request required');
    default:
      return answer satisfies never;
  }
}

async function onRequest(deps: Serving, message: IncomingMessage, response: ServerResponse): Promise<void> {
  const gone = new AbortController();
  response.once('close', () => gone.abort(new Error('client went away')));
  // A client that breaks off is noticed by what waits for it.
  response.on('error', () => undefined);
  try {
    await answerPlain(response, await find(deps, message, false, gone.signal));
  } catch (thrown) {
    if (response.headersSent || response.destroyed) return void response.destroy();
    const { status, message: told } = refusalOf(deps.log, thrown, message.url ?? '');
    const type = 'text/plain; charset=utf-8';
    response.writeHead(status, { 'content-type': type, 'x-content-type-options': 'nosniff' });
    response.end(`${told}\n`);
  }
}

async function onUpgrade(
  deps: Serving,
  message: IncomingMessage,
  socket: Duplex,
  head: Buffer,
): Promise<void> {
  const gone = new AbortController();
  socket.once('close', () => gone.abort(new Error('client went away')));
  socket.on('error', () => undefined);
  try {
    const answer = await find(deps, message, true, gone.signal);
    if (answer.kind !== 'passage') {
      throw new StatusError('BadRequest', 'this request offers no change of protocol to what was asked for');
    }
    await passUpgrade({ url: answer.url, message, socket, head, idleMs: deps.streamIdleMs }, gone.signal);
  } catch (thrown) {
    if (socket.destroyed) return;
    const { status, message: told } = refusalOf(deps.log, thrown, message.url ?? '');
    writeRefusal(socket, status, `${told}\n`);
  }
}

/** Answers on a server that was made, which is not listening yet. */
export function attach(server: Server, deps: ServeDeps): void {
  const limits = limitConnections(server, { most: MOST_CONNECTIONS });
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

/** @throws the system's error, for an address that is taken for example */
export async function listen(server: Server, address: string, port: number, log: Logger): Promise<Listening> {
  const upgraded = new Set<Duplex>();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, address, () => {
      server.off('error', reject);
      resolve();
    });
  });
  server.on('error', (err) => log.warn({ err }, 'Connection was not accepted'));
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
