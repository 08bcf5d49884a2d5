/** Sends one request, however odd, and reads as much of the answer as a judge needs. */
import { once } from 'node:events';
import { connect } from 'node:tls';
import { errors, request } from 'undici';
import type { Random } from '../../../testing/random.ts';
import type { PlaneChild } from './plane-child.ts';
import { type Ask, rawOf } from './requests.ts';

export interface Answer {
  /** 0: the server ended the connection without an answer. */
  readonly status: number;
  readonly contentType: string;
  readonly text: string;
  readonly tookMs: number;
}

/** No answer for so long is a fault. */
const PATIENCE_MS = 15_000;
/** A stream has no end of its own. */
const STREAM_MS = 150;
const RAW_MS = 2000;

const isStream = ({ target }: Ask): boolean => /[?&](watch|follow)\b|\/watch\//.test(target);
/** The library has a mind of its own about these. */
const isOwnHead = ({ headers }: Ask): boolean =>
  headers.some(([name]) => name === 'Host' || name === 'Expect');

/** @throws Error if no answer came */
export async function send(plane: PlaneChild, ask: Ask, random: Random): Promise<Answer> {
  const beganMs = performance.now();
  const answer = await sendEither(plane, ask, random);
  return { ...answer, tookMs: performance.now() - beganMs };
}

async function sendEither(plane: PlaneChild, ask: Ask, random: Random): Promise<Omit<Answer, 'tookMs'>> {
  if (ask.raw !== undefined) return sendRaw(plane, ask.raw);
  if (isOwnHead(ask)) return sendRaw(plane, rawOf(random, ask).raw ?? Buffer.alloc(0));
  try {
    return await sendProper(plane, ask);
  } catch (thrown) {
    // The library takes no such request.
    if (!(thrown instanceof errors.InvalidArgumentError)) throw thrown;
    return sendRaw(plane, rawOf(random, ask).raw ?? Buffer.alloc(0));
  }
}

async function sendProper(plane: PlaneChild, ask: Ask): Promise<Omit<Answer, 'tookMs'>> {
  const signal = AbortSignal.timeout(isStream(ask) ? STREAM_MS : PATIENCE_MS);
  const chunks: Buffer[] = [];
  let status = 0;
  let contentType = '';
  try {
    const response = await request(plane.url + ask.target, {
      method: ask.method as 'GET',
      dispatcher: plane.agent,
      headers: ask.headers.flat(),
      ...(ask.body === undefined ? {} : { body: ask.body }),
      signal,
    });
    status = response.statusCode;
    // What is compressed is not looked into.
    if (response.headers['content-encoding'] === undefined) {
      contentType = String(response.headers['content-type'] ?? '');
    }
    for await (const chunk of response.body as AsyncIterable<Buffer>) chunks.push(chunk);
  } catch (thrown) {
    // A server that refuses a body may end the connection while it is still being sent.
    const isCut = thrown instanceof errors.SocketError && (ask.body?.length ?? 0) > 64 * 1024;
    if (!isCut && !(isStream(ask) && signal.aborted)) throw thrown;
  }
  return { status, contentType, text: Buffer.concat(chunks).toString('utf8') };
}

/** On a connection of its own, which the server is to end. */
async function sendRaw(plane: PlaneChild, bytes: Buffer): Promise<Omit<Answer, 'tookMs'>> {
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
  const text = Buffer.concat(chunks).toString('utf8');
  const [, status = '0'] = /^HTTP\/1\.1 (\d{3})/.exec(text) ?? [];
  const [, contentType = ''] = /^content-type: (.*)$/im.exec(text) ?? [];
  return { status: Number(status), contentType, text: text.slice(text.indexOf('\r\n\r\n') + 4) };
}
