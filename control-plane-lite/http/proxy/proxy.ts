/** Reverse proxy: streams a request to another server and its response back, of any size and at the pace of
 *  the slower side; upgraded connections byte by byte. Follows no redirects, and never forwards the client's
 *  credentials. */

import {
  type Agent,
  type ClientRequest,
  request as httpRequest,
  type IncomingMessage,
  ServerResponse,
} from 'node:http';
import { request as httpsRequest } from 'node:https';
import { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ConnectionOptions } from 'node:tls';
import { type Clock, systemClock } from '#api/kit/clock.ts';
import { asError, errorCode } from '#api/kit/errno.ts';
import { messageOf } from '#api/kit/error-chain.ts';
import { splice } from '#api/kit/sockets/splice.ts';
import { NO_RESPONSE, type Waits } from '#api/kit/waits.ts';
import { StatusError } from '#api/meta/status-error.ts';
import type { ApiRequest, RawExchange, RawResponse } from '../contract.ts';
import { readSubprotocols } from '../request/subprotocols.ts';
import { type LinkOptions, linkRewriting } from './html-links.ts';
import { requestHeaders, responseHeaders } from './proxy-headers.ts';

export interface ProxyOptions {
  readonly target: {
    readonly host: string;
    readonly port: number;
    /** Encoded, with the query. */
    readonly path: string;
  };
  /** Absent: plain HTTP. */
  readonly tls?: Pick<ConnectionOptions, 'ca' | 'cert' | 'key' | 'servername' | 'rejectUnauthorized'>;
  /** Replace headers that the client sent under these names; a list becomes several headers, an empty list
   *  removes them. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  /** Default: the client's. */
  readonly method?: string;
  /** Pools connections; default: one connection per request. */
  readonly agent?: Agent;
  /** Timeout for connecting, in ms. Default 30 s. */
  readonly connectTimeoutMs?: number;
  /** Longest wait for the head of the response once connected, in ms; default: unlimited. */
  readonly responseTimeoutMs?: number;
  /** Default: the system's. */
  readonly clock?: Clock;
  /** Domain of the API groups, part of the name of the subprotocol that holds a token. */
  readonly domain: string;
  readonly remoteAddress: string;
  /** Rewrites the location of a redirect for the client. Default: unchanged. */
  readonly rewriteLocation?: (location: string) => string;
  /** A redirect by the target is an error: its clients hold credentials of their own, which they would
   *  present to the host that it names. */
  readonly refuseRedirects?: boolean;
  /** Rewrites the links of pages to point through this server. Default: pages pass unchanged. */
  readonly awaited?: { readonly waits: Pick<Waits, 'during'>; readonly what: string } | undefined;
  /** Leads the links of pages through this server. Default: pages are as the target made them. */
  readonly rewriteLinks?: LinkOptions;
}

/** The target is unreachable, or does not speak HTTP. */
function unreachable(error: Error): StatusError {
  const isResponse = errorCode(error)?.startsWith('HPE_') === true;
  return new StatusError('ServiceUnavailable', `error trying to reach service: ${messageOf(error)}`, {
    code: isResponse ? 502 : 503,
    cause: error,
  });
}

/** The target's response must not be passed on. */
const badResponse = (message: string): StatusError =>
  new StatusError('ServiceUnavailable', message, { code: 502 });

const isRedirect = ({ statusCode = 0, headers }: IncomingMessage): boolean =>
  statusCode >= 300 && statusCode < 400 && (headers.location ?? '') !== '';

/** Puts IPv6 addresses in brackets. */
const hostHeader = ({ host, port }: ProxyOptions['target']): string =>
  `${host.includes(':') ? `[${host}]` : host}:${port}`;

function openRequest(request: ApiRequest, options: ProxyOptions, message: RawExchange): ClientRequest {
  const { headers } = request;
  const isUpgrade = message.kind === 'upgrade';
  const raw = message.message.rawHeaders;
  const { connectTimeoutMs = 30_000, target } = options;
  const outgoing = (options.tls === undefined ? httpRequest : httpsRequest)({
    ...options.tls,
    host: target.host,
    port: target.port,
    path: target.path,
    method: options.method ?? request.method,
    headers: requestHeaders(raw, {
      host: hostHeader(target),
      set: options.headers ?? {},
      remoteAddress: options.remoteAddress,
      protocols: readSubprotocols(headers['sec-websocket-protocol'], options.domain).protocols,
      ...(isUpgrade && headers.upgrade !== undefined ? { upgrade: headers.upgrade } : {}),
    }),
    agent: isUpgrade ? false : (options.agent ?? false),
    setHost: false,
    signal: request.signal,
  });
  outgoing.once('socket', (socket: Socket) => limitConnect(socket, outgoing, connectTimeoutMs, options));
  return outgoing;
}

function limitConnect(socket: Socket, outgoing: ClientRequest, ms: number, options: ProxyOptions): void {
  if (!socket.connecting) return;
  const { clock = systemClock } = options;
  const timer = clock.setTimer(() => outgoing.destroy(new Error('connecting timed out')), ms);
  const stop = (): void => timer.cancel();
  socket.once(options.tls === undefined ? 'connect' : 'secureConnect', stop);
  socket.once('close', stop);
}

/** A transformed body has another length. */
const withoutLength = (raw: readonly string[]): readonly string[] =>
  raw.filter((_, index) => raw[index - (index % 2)]?.toLowerCase() !== 'content-length');

/** The common part of HTTP/1.1 and HTTP/2 responses. */
interface HeadWriter {
  writeHead(status: number, headers: string[]): unknown;
}

type TargetResponse =
  | { readonly kind: 'response'; readonly response: IncomingMessage }
  | {
      readonly kind: 'upgrade';
      readonly response: IncomingMessage;
      readonly socket: Socket;
      readonly head: Buffer;
    };

/** Returns the target's response. Nothing has been written to the client when this fails.
 *  @throws StatusError */
function responseOf(outgoing: ClientRequest, options: ProxyOptions): Promise<TargetResponse> {
  const respond = nextResponse(outgoing, options);
  const { awaited } = options;
  return awaited?.waits.during(awaited.what, respond, NO_RESPONSE) ?? respond;
}

function nextResponse(outgoing: ClientRequest, options: ProxyOptions): Promise<TargetResponse> {
  const { responseTimeoutMs, clock = systemClock } = options;
  if (responseTimeoutMs !== undefined) {
    const timer = clock.setTimer(
      () => outgoing.destroy(new Error('timed out waiting for a response')),
      responseTimeoutMs,
    );
    for (const event of ['response', 'upgrade', 'close']) outgoing.once(event, () => timer.cancel());
  }
  return new Promise((resolve, reject) => {
    outgoing.once('response', (response) => resolve({ kind: 'response', response }));
    outgoing.once('upgrade', (response, socket, head) => {
      if (socket instanceof Socket) resolve({ kind: 'upgrade', response, socket, head });
    });
    // Handles later errors, which the response's own stream reports.
    outgoing.on('error', (error) => reject(unreachable(error)));
  });
}

async function runPlain(
  request: ApiRequest,
  options: ProxyOptions,
  raw: RawExchange & { kind: 'plain' },
): Promise<void> {
  const outgoing = openRequest(request, options, raw);
  const sending = pipeline(raw.message, outgoing).catch((error: unknown) => asError(error));
  const received = await responseOf(outgoing, options);
  if (received.kind === 'upgrade') {
    received.socket.destroy();
    throw unreachable(new Error('the service switched protocols without being asked to'));
  }
  const { response } = received;
  if (options.refuseRedirects === true && isRedirect(response)) {
    outgoing.destroy();
    throw badResponse('the backend attempted to redirect this request, which is not permitted');
  }
  const { reply } = raw;
  const rewriting = linkRewriting(response, options.rewriteLinks);
  const rawHeaders = rewriting.length === 0 ? response.rawHeaders : withoutLength(response.rawHeaders);
  const headers = responseHeaders(rawHeaders, request.id, options.rewriteLocation);
  if (request.extraHeaders !== undefined) headers.push(...request.extraHeaders);
  const head: HeadWriter = reply;
  head.writeHead(response.statusCode ?? 502, headers);
  // The first bytes of the body may take long; HTTP/2 has already sent the head.
  if ('flushHeaders' in reply) reply.flushHeaders();
  await pipeline([response, ...rewriting, reply]);
  // The response may end before the request does; the rest of the request is then useless.
  if (!raw.message.readableEnded) outgoing.destroy();
  await sending;
}

function formatHead(response: IncomingMessage, auditId: string): string {
  const headers = responseHeaders(response.rawHeaders, auditId);
  const protocol = response.headers.upgrade ?? '';
  headers.push('Connection', 'Upgrade', 'Upgrade', protocol);
  let head = 'HTTP/1.1 101 Switching Protocols\r\n';
  for (let index = 0; index + 1 < headers.length; index += 2) {
    head += `${headers[index]}: ${headers[index + 1]}\r\n`;
  }
  return `${head}\r\n`;
}

async function runUpgrade(
  request: ApiRequest,
  options: ProxyOptions,
  raw: RawExchange & { kind: 'upgrade' },
): Promise<void> {
  const outgoing = openRequest(request, options, raw);
  outgoing.end();
  const received = await responseOf(outgoing, options);
  if (received.kind === 'upgrade') {
    const abort = (): void => void received.socket.destroy();
    request.signal.addEventListener('abort', abort, { once: true });
    raw.socket.write(formatHead(received.response, request.id), 'latin1');
    if (received.head.length > 0) raw.socket.write(received.head);
    if (raw.head.length > 0) received.socket.write(raw.head);
    raw.begun();
    return splice(raw.socket, received.socket);
  }
  const { response } = received;
  const { statusCode = 0 } = response;
  // Only a failure is a valid response to an upgrade request, other than the upgrade.
  if (statusCode < 400) {
    outgoing.destroy();
    throw badResponse(`invalid upgrade response: status code ${statusCode}`);
  }
  return refuseUpgrade(request, raw, response);
}

/** Maximum size of a forwarded upgrade rejection, in bytes. */
const LONGEST_REFUSAL = 1024 * 1024;

/** Forwards the response of a target that rejects an upgrade unchanged: clients show its text to users. It
 *  has a length, so that all of it is read before the connection ends. */
async function refuseUpgrade(
  request: ApiRequest,
  raw: RawExchange & { kind: 'upgrade' },
  response: IncomingMessage,
): Promise<void> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of response as AsyncIterable<Buffer>) {
    parts.push(part);
    bytes += part.length;
    if (bytes > LONGEST_REFUSAL) break;
  }
  const body = Buffer.concat(parts);
  const headers = responseHeaders(withoutLength(response.rawHeaders), request.id);
  const reply = new ServerResponse(raw.message);
  if (raw.socket instanceof Socket) reply.assignSocket(raw.socket);
  headers.push('Content-Length', String(body.length), 'Connection', 'close');
  reply.writeHead(response.statusCode ?? 502, headers);
  await pipeline(Readable.from([body]), reply);
  if (raw.socket instanceof Socket) raw.socket.destroySoon();
  else raw.socket.end();
}

/** Returns another server's response to a request; also for upgrades. */
export function proxyRequest(request: ApiRequest, options: ProxyOptions): RawResponse {
  return {
    kind: 'raw',
    run: (raw) =>
      raw.kind === 'plain' ? runPlain(request, options, raw) : runUpgrade(request, options, raw),
  };
}
