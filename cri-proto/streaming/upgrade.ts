/** Upgrades an HTTP/1.1 request to the runtime's streaming server into a raw two-way connection. */
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { Duplex } from 'node:stream';
import { asError } from '#api/kit/clock.ts';
import { StreamingError } from './errors.ts';

export interface UpgradedSocket {
  readonly socket: Duplex;
  /** Bytes that came right behind the answer. */
  readonly head: Uint8Array;
  /** The subprotocol that the server chose. */
  readonly protocol: string;
}

export interface UpgradeRequest {
  /** What the runtime's Exec, Attach or PortForward call answered with. */
  readonly url: string;
  /** Subprotocols in order of preference. */
  readonly protocols: readonly string[];
  readonly signal: AbortSignal;
}

const PROTOCOL_HEADER = 'x-stream-protocol-version';
const LARGEST_ERROR_BYTES = 4096;
const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

function parseUrl(text: string): URL {
  const url = URL.parse(text);
  if (url !== null && (url.protocol === 'http:' || url.protocol === 'https:')) return url;
  // The URL itself carries a one-time token and stays out of errors.
  throw new StreamingError('the runtime answered with a streaming URL that is not HTTP');
}

async function readErrorText(response: AsyncIterable<unknown>): Promise<string> {
  let text = '';
  for await (const chunk of response) {
    text += String(chunk);
    if (text.length > LARGEST_ERROR_BYTES) break;
  }
  return text.slice(0, LARGEST_ERROR_BYTES).trim();
}

/** Asks for SPDY/3.1. Resolves when the server switched protocols.
 * @throws {StreamingError} when it refused. @throws the signal's reason. */
export function upgradeToSpdy({ url: text, protocols, signal }: UpgradeRequest): Promise<UpgradedSocket> {
  return new Promise((resolve, reject) => {
    const url = parseUrl(text);
    const fail = (thrown: unknown): void => {
      const cause = asError(thrown);
      const error = new StreamingError('cannot reach the streaming server of the runtime', { cause });
      reject(signal.aborted ? asError(signal.reason) : error);
    };
    const request = (url.protocol === 'https:' ? requestHttps : requestHttp)(url, {
      method: 'POST',
      agent: false,
      signal,
      // A runtime's own certificate for its loopback server is self-signed and made anew at each start.
      rejectUnauthorized: !LOOPBACK.has(url.hostname),
      headers: {
        connection: 'Upgrade',
        upgrade: 'SPDY/3.1',
        'content-length': '0',
        [PROTOCOL_HEADER]: [...protocols],
      },
    });
    request.on('upgrade', (response, socket, head) => {
      const protocol = response.headers[PROTOCOL_HEADER];
      if (typeof protocol === 'string' && protocols.includes(protocol)) resolve({ socket, head, protocol });
      else {
        socket.destroy();
        reject(new StreamingError(`the streaming server chose the unknown protocol ${String(protocol)}`));
      }
    });
    request.on('response', (response) => {
      const refuse = (body: string): void =>
        reject(new StreamingError(`the streaming server refused with ${response.statusCode}: ${body}`));
      readErrorText(response).then(refuse, fail);
    });
    request.on('error', fail);
    request.end();
  });
}
