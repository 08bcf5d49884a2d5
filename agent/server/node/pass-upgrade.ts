/** Proxies an upgraded connection to the streaming server of the runtime, byte by byte. Follows no redirects
 *  and does not forward the identity of the client. */
import { type ClientRequest, type IncomingMessage, request as requestHttp, STATUS_CODES } from 'node:http';
import { request as requestHttps } from 'node:https';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { splice } from '#api/kit/sockets/splice.ts';
import { StatusError } from '#api/meta/status-error.ts';

export interface ProxiedUpgrade {
  /** Streaming URL returned by Exec, Attach or PortForward of the runtime. */
  readonly url: string;
  readonly message: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
  /** 0 disables the timeout. */
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

/** Filters a flat list of headers for those that may be forwarded. */
function passedOn(raw: readonly string[]): string[] {
  const headers: string[] = [];
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const name = raw[index] ?? '';
    if (!NOT_PASSED.has(name.toLowerCase())) headers.push(name, raw[index + 1] ?? '');
  }
  return headers;
}

function openRequest({ url: text, message }: ProxiedUpgrade, signal: AbortSignal): ClientRequest {
  const url = URL.parse(text);
  // The URL contains a token and must not appear in errors.
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new Error('the runtime returned a streaming URL that is not HTTP');
  }
  const upgrade = message.headers.upgrade ?? '';
  return (url.protocol === 'https:' ? requestHttps : requestHttp)(url, {
    method: message.method ?? 'POST',
    agent: false,
    signal,
    setHost: false,
    // The loopback server of a runtime has a self-signed certificate that changes at every start.
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
  const message = text.slice(0, LONGEST_REFUSAL).trim();
  // Redirects are not followed.
  const isTheirs = code >= 400 && code < 500;
  return new StatusError(
    isTheirs ? 'BadRequest' : 'InternalError',
    `the runtime rejected the request: ${message}`,
    {
      code: isTheirs ? code : 500,
    },
  );
}

interface Switched {
  readonly response: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
}

function switched(upgrade: ProxiedUpgrade, signal: AbortSignal): Promise<Switched> {
  return new Promise((resolve, reject) => {
    const outgoing = openRequest(upgrade, signal);
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

/** Resolves when the session has ended.
 *  @throws StatusError with the response of the runtime, Error when it is unreachable */
export async function passUpgrade(upgrade: ProxiedUpgrade, signal: AbortSignal): Promise<void> {
  const { socket: client, idleMs } = upgrade;
  const { response, socket: runtime, head } = await switched(upgrade, signal);
  client.write(formatHead(response), 'latin1');
  if (head.length > 0) client.write(head);
  if (upgrade.head.length > 0) runtime.write(upgrade.head);
  if (idleMs > 0 && client instanceof Socket) client.setTimeout(idleMs, () => client.destroy());
  await splice(client, runtime);
}

/** Sends a plain HTTP response to an upgrade request. */
export function writeRejection(socket: Duplex, status: number, text: string): void {
  const body = Buffer.from(text);
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Error'}`,
    'Content-Type: text/plain; charset=utf-8',
    `Content-Length: ${body.length}`,
    'Connection: close',
  ];
  socket.end(Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body]), () => socket.destroy());
}
