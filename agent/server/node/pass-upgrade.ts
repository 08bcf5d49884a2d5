/** Passes a connection that changes its protocol to the runtime's streaming server, byte by byte. Follows no redirect,
 *  and shows the runtime nothing of who the client is. */
import { type ClientRequest, type IncomingMessage, request as requestHttp, STATUS_CODES } from 'node:http';
import { request as requestHttps } from 'node:https';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { StatusError } from '#api/meta/status-error.ts';

export interface Passage {
  /** What the runtime's Exec, Attach or PortForward call answered with. */
  readonly url: string;
  readonly message: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
  /** 0: never. */
  readonly idleMs: number;
}

const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);
const NOT_PASSED: ReadonlySet<string> = new Set([
  'host',
  'connection',
  'upgrade',
  'keep-alive',
  'transfer-encoding',
  'te',
  'trailer',
  'content-length',
  'proxy-authorization',
  'authorization',
  'cookie',
  'expect',
]);
const LONGEST_REFUSAL = 4096;

/** Pairs of a flat list of headers that may be passed on. */
function passedOn(raw: readonly string[]): string[] {
  const kept: string[] = [];
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const name = raw[index] ?? '';
    if (!NOT_PASSED.has(name.toLowerCase())) kept.push(name, raw[index + 1] ?? '');
  }
  return kept;
}

function openRequest({ url: text, message }: Passage, signal: AbortSignal): ClientRequest {
  const url = URL.parse(text);
  // The address holds a token, and stays out of errors.
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new Error('the runtime answered with a streaming URL that is not HTTP');
  }
  const upgrade = message.headers.upgrade ?? '';
  return (url.protocol === 'https:' ? requestHttps : requestHttp)(url, {
    method: message.method ?? 'POST',
    agent: false,
    signal,
    setHost: false,
    // A runtime's own certificate for its loopback server is self-signed and made anew at each start.
    rejectUnauthorized: !LOOPBACK.has(url.hostname),
    headers: passedOn(message.rawHeaders).concat(
      ['Host', url.host, 'Connection', 'Upgrade', 'Upgrade', upgrade],
      ['Content-Length', '0'],
    ),
  });
}

async function refusal(response: IncomingMessage): Promise<StatusError> {
  let text = '';
  for await (const part of response as AsyncIterable<Buffer>) {
    text += part.toString('utf8');
    if (text.length > LONGEST_REFUSAL) break;
  }
  const code = response.statusCode ?? 500;
  const told = text.slice(0, LONGEST_REFUSAL).trim();
  // A redirect leads nowhere.
  const isTheirs = code >= 400 && code < 500;
  return new StatusError(isTheirs ? 'BadRequest' : 'InternalError', `the runtime refused: ${told}`, {
    code: isTheirs ? code : 500,
  });
}

interface Switched {
  readonly response: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
}

function switched(passage: Passage, signal: AbortSignal): Promise<Switched> {
  return new Promise((resolve, reject) => {
    const outgoing = openRequest(passage, signal);
    outgoing.on('upgrade', (response, socket, head) => resolve({ response, socket, head }));
    outgoing.on('response', (response) => void refusal(response).then(reject, reject));
    outgoing.on('error', (cause) => {
      reject(new Error('cannot reach the streaming server of the runtime', { cause }));
    });
    outgoing.end();
  });
}

function formatHead({ rawHeaders, headers }: IncomingMessage): string {
  const all = [...passedOn(rawHeaders), 'Connection', 'Upgrade', 'Upgrade', headers.upgrade ?? ''];
  let head = 'HTTP/1.1 101 Switching Protocols\r\n';
  for (let index = 0; index + 1 < all.length; index += 2) head += `${all[index]}: ${all[index + 1]}\r\n`;
  return `${head}\r\n`;
}

/** Resolves when the session is over.
 *  @throws StatusError with what the runtime says, Error when it can't be reached */
export async function passUpgrade(passage: Passage, signal: AbortSignal): Promise<void> {
  const { socket: client, idleMs } = passage;
  const { response, socket: runtime, head } = await switched(passage, signal);
  client.write(formatHead(response), 'latin1');
  if (head.length > 0) client.write(head);
  if (passage.head.length > 0) runtime.write(passage.head);
  for (const socket of [client, runtime]) {
    // The other direction may have something to say still.
    socket.allowHalfOpen = true;
    socket.setMaxListeners(30);
  }
  if (idleMs > 0 && client instanceof Socket) client.setTimeout(idleMs, () => client.destroy());
  try {
    await Promise.all([pipeline(client, runtime), pipeline(runtime, client)]);
  } catch {
    // One side broke off: the end of its connection tells the other.
  } finally {
    client.destroy();
    runtime.destroy();
  }
}

/** Answers a request for an upgrade as if it were none. */
export function writeRefusal(socket: Duplex, status: number, text: string): void {
  const body = Buffer.from(text);
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Error'}`,
    'Content-Type: text/plain; charset=utf-8',
    `Content-Length: ${body.length}`,
    'Connection: close',
  ];
  socket.end(Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body]), () => socket.destroy());
}
