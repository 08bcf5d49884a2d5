/** Upgrades an HTTP/1.1 request to the streaming server of the runtime into a raw bidirectional connection. */
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { Duplex } from 'node:stream';
import { asError } from '#api/kit/errno.ts';
import { StreamingError } from './errors.ts';

export interface UpgradedSocket {
  readonly socket: Duplex;
  /** Bytes received right after the response. */
  readonly head: Uint8Array;
  /** Subprotocol selected by the server. */
  readonly protocol: string;
}

export interface UpgradeRequest {
  /** URL returned by Exec, Attach or PortForward of the runtime. */
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
  // The URL contains a one-time token and must not appear in errors.
  throw new StreamingError('the runtime returned a streaming URL that is not HTTP');
}

async function readErrorText(response: AsyncIterable<unknown>): Promise<string> {
  let text = '';
  for await (const chunk of response) {
    text += String(chunk);
    if (text.length > LARGEST_ERROR_BYTES) break;
  }
  return text.slice(0, LARGEST_ERROR_BYTES).trim();
}

/** Requests SPDY/3.1. Resolves when the server has switched protocols.
 *  @throws {StreamingError} when it rejects the upgrade. @throws the signal's reason */
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
      // The loopback server of a runtime has a self-signed certificate that changes at every start.
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
        reject(new StreamingError(`the streaming server selected the unknown protocol ${String(protocol)}`));
      }
    });
    request.on('response', (response) => {
      const refuse = (body: string): void =>
        reject(
          new StreamingError(
            `the streaming server rejected the upgrade with ${response.statusCode}: ${body}`,
          ),
        );
      readErrorText(response).then(refuse, fail);
    });
    request.on('error', fail);
    request.end();
  });
}
