/** Passes a request through to another server and its answer back, of any size and at the pace of the slower side;
 *  upgraded connections byte by byte. Follows no redirects, and never passes the client's credentials on. */

import type { Agent } from 'node:http';
import { type ClientRequest, request as httpRequest, type IncomingMessage, ServerResponse } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { Socket } from 'node:net';
import { type Duplex, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ConnectionOptions } from 'node:tls';
import { asError, type Clock, systemClock } from '#api/kit/clock.ts';
import { messageOf } from '#api/kit/error-chain.ts';
import { StatusError } from '#api/meta/status-error.ts';
import { readSubprotocols } from './authentication.ts';
import type { ApiRequest, RawExchange, RawResponse } from './contract.ts';
import { type LinkOptions, linkRewriting } from './html-links.ts';
import { requestHeaders, responseHeaders } from './proxy-headers.ts';

export interface ProxyOptions {
  readonly target: {
    readonly host: string;
    readonly port: number;
    /** Encoded, with the query. */
    readonly path: string;
  };
  /** Absent: no TLS. */
  readonly tls?: Pick<ConnectionOptions, 'ca' | 'cert' | 'key' | 'servername' | 'rejectUnauthorized'>;
  /** Set for the target instead of what the client sent under these names; a list becomes as many headers, an empty
   *  one none. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  /** Default: the client's. */
  readonly method?: string;
  /** Keeps connections; default: one for each request. */
  readonly agent?: Agent;
  /** Default 30 s. */
  readonly connectTimeoutMs?: number;
  /** Longest wait for the beginning of the answer once there is a connection; default: none. */
  readonly answerTimeoutMs?: number;
  /** Default: the system's. */
  readonly clock?: Clock;
  /** Domain of the API groups, part of the name of the subprotocol that holds a token. */
  readonly domain: string;
  readonly remoteAddress: string;
  /** Where a redirect of the target's leads for the client. Default: where the target says. */
  readonly rewriteLocation?: (location: string) => string;
  /** A redirect of the target's is a failure: its clients come with credentials of their own, which they would show
   *  to whomever it names. */
  readonly refuseRedirects?: boolean;
  /** Leads the links of pages through this server. Default: pages are as the target made them. */
  readonly rewriteLinks?: LinkOptions;
}

/** The target can't be reached, or what it says is no HTTP. */
function unreachable(error: Error): StatusError {
  const isAnswer = 'code' in error && typeof error.code === 'string' && error.code.startsWith('HPE_');
  return new StatusError('ServiceUnavailable', `error trying to reach service: ${messageOf(error)}`, {
    code: isAnswer ? 502 : 503,
    cause: error,
  });
}

/** The target answers in a way that is not passed on. */
const badAnswer = (message: string): StatusError =>
  new StatusError('ServiceUnavailable', message, { code: 502 });

const isRedirect = ({ statusCode = 0, headers }: IncomingMessage): boolean =>
  statusCode >= 300 && statusCode < 400 && (headers.location ?? '') !== '';

/** IPv6 addresses stand in brackets. */
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
  const timer = clock.setTimer(() => outgoing.destroy(new Error('no connection in time')), ms);
  const stop = (): void => timer.cancel();
  socket.once(options.tls === undefined ? 'connect' : 'secureConnect', stop);
  socket.once('close', stop);
}

/** What changes on its way has another length. */
const withoutLength = (raw: readonly string[]): readonly string[] =>
  raw.filter((_, index) => raw[index - (index % 2)]?.toLowerCase() !== 'content-length');

/** What answers of HTTP/1.1 and HTTP/2 have in common. */
interface HeadWriter {
  writeHead(status: number, headers: string[]): unknown;
}

type TargetAnswer =
  | { readonly kind: 'response'; readonly response: IncomingMessage }
  | {
      readonly kind: 'upgrade';
      readonly response: IncomingMessage;
      readonly socket: Socket;
      readonly head: Buffer;
    };

/** The target's answer. Nothing was written to the client when this fails.
 *  @throws StatusError */
function answerOf(outgoing: ClientRequest, options: ProxyOptions): Promise<TargetAnswer> {
  const { answerTimeoutMs, clock = systemClock } = options;
  if (answerTimeoutMs !== undefined) {
    const timer = clock.setTimer(() => outgoing.destroy(new Error('no answer in time')), answerTimeoutMs);
    for (const event of ['response', 'upgrade', 'close']) outgoing.once(event, () => timer.cancel());
  }
  return new Promise((resolve, reject) => {
    outgoing.once('response', (response) => resolve({ kind: 'response', response }));
    outgoing.once('upgrade', (response, socket, head) => {
      if (socket instanceof Socket) resolve({ kind: 'upgrade', response, socket, head });
    });
    // Stays for what goes wrong later: then the answer's own stream tells of it.
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
  const answer = await answerOf(outgoing, options);
  if (answer.kind === 'upgrade') {
    answer.socket.destroy();
    throw unreachable(new Error('the service changed the protocol without being asked to'));
  }
  const { response } = answer;
  if (options.refuseRedirects === true && isRedirect(response)) {
    outgoing.destroy();
    throw badAnswer('the backend attempted to redirect this request, which is not permitted');
  }
  const { reply } = raw;
  const rewriting = linkRewriting(response, options.rewriteLinks);
  const answered = rewriting.length === 0 ? response.rawHeaders : withoutLength(response.rawHeaders);
  const headers = responseHeaders(answered, request.id, options.rewriteLocation);
  const head: HeadWriter = reply;
  head.writeHead(response.statusCode ?? 502, headers);
  // The first bytes of the body may be long in coming; HTTP/2 has sent the head already.
  if ('flushHeaders' in reply) reply.flushHeaders();
  await pipeline([response, ...rewriting, reply]);
  // The answer may end before the request does: then the rest of it is of no use to anyone.
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

/** Bytes both ways until both sides have ended; the end of one side is told to the other. */
export async function splice(client: Duplex, target: Duplex): Promise<void> {
  for (const socket of [client, target]) {
    // The other direction may have something to say still.
    socket.allowHalfOpen = true;
    // Both pipelines listen on both sockets, beside those who had them before.
    socket.setMaxListeners(30);
  }
  try {
    await Promise.all([pipeline(client, target), pipeline(target, client)]);
  } finally {
    client.destroy();
    target.destroy();
  }
}

async function runUpgrade(
  request: ApiRequest,
  options: ProxyOptions,
  raw: RawExchange & { kind: 'upgrade' },
): Promise<void> {
  const outgoing = openRequest(request, options, raw);
  outgoing.end();
  const answer = await answerOf(outgoing, options);
  if (answer.kind === 'upgrade') {
    const abort = (): void => void answer.socket.destroy();
    request.signal.addEventListener('abort', abort, { once: true });
    raw.socket.write(formatHead(answer.response, request.id), 'latin1');
    if (answer.head.length > 0) raw.socket.write(answer.head);
    if (raw.head.length > 0) answer.socket.write(raw.head);
    raw.begun();
    return splice(raw.socket, answer.socket);
  }
  const { response } = answer;
  const { statusCode = 0 } = response;
  // Only a failure is an answer to a request for another protocol.
  if (statusCode < 400) {
    outgoing.destroy();
    throw badAnswer(`invalid upgrade response: status code ${statusCode}`);
  }
  return refuseUpgrade(request, raw, response);
}

/** Of a target's refusal, in bytes. */
const LONGEST_REFUSAL = 1024 * 1024;

/** Passes on the answer of a target that changes no protocol, as it is: clients show its text to people. It has a length,
 *  so that all of it is taken before the connection ends. */
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

/** The answer of another server to a request; also for upgrades. */
export function proxyRequest(request: ApiRequest, options: ProxyOptions): RawResponse {
  return {
    kind: 'raw',
    run: (raw) =>
      raw.kind === 'plain' ? runPlain(request, options, raw) : runUpgrade(request, options, raw),
  };
}
