/** Sends one request, however malformed, and reads as much of the response as the judge needs. */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http2';
import { request } from 'node:https';
import { connect } from 'node:tls';
import type { Random } from '../../testing/random.ts';
import { chance } from './hostile.ts';
import type { PlaneChild } from './plane-child.ts';
import { type Ask, rawOf } from './requests.ts';

export interface HttpResponse {
  /** 0: the server closed the connection without a response. */
  readonly status: number;
  /** Content type of the body; empty if it is compressed. */
  readonly contentType: string;
  readonly text: string;
  readonly tookMs: number;
}

/** Without a response for this long the test fails; the server itself times out earlier. */
const PATIENCE_MS = 70_000;
/** A stream has no end of its own. */
const STREAM_MS = 150;
const RAW_MS = 2000;
/** The server may respond to larger bodies before they have been sent completely. */
const SMALL_BODY_BYTES = 64 * 1024;

/** Is read for a moment only. */
export const isStream = ({ target }: Ask): boolean => /[?&](watch|follow)\b|\/watch\//.test(target);
/** The library has a mind of its own about these. */
const isOwnHead = ({ headers }: Ask): boolean =>
  headers.some(([name]) => /^(host|expect|connection|upgrade|content-length|transfer-encoding)$/i.test(name));

type Reply = Omit<HttpResponse, 'tookMs'>;

/** @throws Error without a response */
export async function send(plane: PlaneChild, ask: Ask, random: Random): Promise<HttpResponse> {
  const beganMs = performance.now();
  const result = await sendEither(plane, ask, random);
  return { ...result, tookMs: performance.now() - beganMs };
}

async function sendEither(plane: PlaneChild, ask: Ask, random: Random): Promise<Reply> {
  if (ask.raw !== undefined) return sendRaw(plane, ask.raw);
  if (isOwnHead(ask)) return sendRaw(plane, rawOf(random, ask).raw ?? Buffer.alloc(0));
  try {
    return await (chance(random, 15) ? sendHttp2(plane, ask) : sendProper(plane, ask));
  } catch (thrown) {
    // The library takes no such request.
    if (!(thrown instanceof TypeError)) throw thrown;
    return sendRaw(plane, rawOf(random, ask).raw ?? Buffer.alloc(0));
  }
}

async function sendProper(plane: PlaneChild, ask: Ask): Promise<Reply> {
  const signal = AbortSignal.timeout(isStream(ask) ? STREAM_MS : PATIENCE_MS);
  const { hostname, port } = new URL(plane.url);
  const size = ask.body?.length ?? 0;
  const outgoing = request({
    agent: plane.agent,
    hostname,
    port,
    method: ask.method,
    path: ask.target,
    // A list is sent as it is, names that come twice included.
    headers: ['Host', 'plane', 'Content-Length', String(size), ...ask.headers.flat()],
    signal,
  });
  // Aborting it is reported here as well as to its caller.
  outgoing.on('error', () => undefined);
  const chunks: Buffer[] = [];
  let response: IncomingMessage | undefined;
  try {
    const received = once(outgoing, 'response') as Promise<[IncomingMessage]>;
    outgoing.end(ask.body);
    [response] = await received;
    for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
  } catch (thrown) {
    if (!(isStream(ask) && signal.aborted) && size < SMALL_BODY_BYTES) throw thrown;
  }
  const { statusCode: status = 0, headers = {} } = response ?? {};
  const contentType = headers['content-encoding'] === undefined ? (headers['content-type'] ?? '') : '';
  return { status, contentType, text: Buffer.concat(chunks).toString('utf8') };
}

async function sendHttp2(plane: PlaneChild, ask: Ask): Promise<Reply> {
  const signal = AbortSignal.timeout(isStream(ask) ? STREAM_MS : PATIENCE_MS);
  const size = ask.body?.length ?? 0;
  // Names come once; the last one counts.
  const named = Object.fromEntries(ask.headers.map(([name, value]) => [name.toLowerCase(), value]));
  const head = { ':method': ask.method, ':path': ask.target, ...named };
  const stream = plane.session().request(head, { endStream: size === 0, signal });
  stream.on('error', () => undefined);
  const chunks: Buffer[] = [];
  let headers: IncomingHttpHeaders = {};
  try {
    const received = once(stream, 'response') as Promise<[IncomingHttpHeaders]>;
    if (size > 0) stream.end(ask.body);
    [headers] = await received;
    for await (const chunk of stream as AsyncIterable<Buffer>) chunks.push(chunk);
  } catch (thrown) {
    if (!(isStream(ask) && signal.aborted) && size < SMALL_BODY_BYTES) throw thrown;
  }
  const contentType = headers['content-encoding'] === undefined ? (headers['content-type'] ?? '') : '';
  return {
    status: Number(headers[':status'] ?? 0),
    contentType,
    text: Buffer.concat(chunks).toString('utf8'),
  };
}

/** On a connection of its own, which the server is to end. */
async function sendRaw(plane: PlaneChild, bytes: Buffer): Promise<Reply> {
  const { hostname, port } = new URL(plane.url);
  const socket = connect({
    ...plane.credentials,
    host: hostname,
    port: Number(port),
    ALPNProtocols: ['http/1.1'],
  });
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  // The server may well reset it.
  socket.on('error', () => undefined);
  socket.setTimeout(RAW_MS, () => socket.destroy());
  socket.write(bytes);
  await once(socket, 'close');
  const [head = '', ...rest] = Buffer.concat(chunks).toString('utf8').split('\r\n\r\n');
  const [, status = '0'] = /^HTTP\/1\.1 (\d{3})/.exec(head) ?? [];
  const [, type = ''] = /^content-type: (.*)$/im.exec(head) ?? [];
  const contentType = /^content-encoding: /im.test(head) ? '' : type;
  return { status: Number(status), contentType, text: rest.join('\r\n\r\n') };
}
