/** Opens a SPDY connection to a node agent, for clients connected by WebSocket. */

import type { IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Duplex } from 'node:stream';
import type { Clock } from '#api/kit/clock.ts';
import { StatusError } from '#api/meta/status-error.ts';
import type { Target } from '../../agents/agents.ts';
import { agentUnreachable, refusalOf } from './log.ts';

export interface DialOptions {
  readonly target: Target;
  /** Including the query. */
  readonly path: string;
  /** Subprotocol of the streams. */
  readonly protocol: string;
  readonly clock: Clock;
  readonly connectTimeoutMs: number;
  readonly signal: AbortSignal;
}

export interface Dialed {
  readonly socket: Duplex;
  /** Bytes that arrived right after the response head. */
  readonly head: Buffer;
}

const PROTOCOL_HEADER = 'x-stream-protocol-version';
const LONGEST_REFUSAL = 4096;

async function refusal(response: IncomingMessage): Promise<StatusError> {
  const { statusCode = 0 } = response;
  if (statusCode < 400) {
    response.destroy();
    const message = `invalid upgrade response: status code ${statusCode}`;
    return new StatusError('ServiceUnavailable', message, { code: 502 });
  }
  let text = '';
  for await (const part of response as AsyncIterable<Buffer>) {
    text += part.toString('utf8');
    if (text.length > LONGEST_REFUSAL) break;
  }
  return refusalOf(statusCode, text.slice(0, LONGEST_REFUSAL));
}

/** Resolves once the agent has switched protocols.
 *  @throws StatusError with the agent's message, or ServiceUnavailable */
export function dialSpdy(options: DialOptions): Promise<Dialed> {
  const { target, path, protocol, clock, connectTimeoutMs, signal } = options;
  const { host, port, tls } = target;
  return new Promise((resolve, reject) => {
    const outgoing = httpsRequest({
      ...tls,
      host,
      port,
      path,
      method: 'POST',
      agent: false,
      signal,
      headers: {
        connection: 'Upgrade',
        upgrade: 'SPDY/3.1',
        'content-length': '0',
        [PROTOCOL_HEADER]: protocol,
      },
    });
    const timer = clock.setTimer(
      () => outgoing.destroy(new Error('timed out waiting for a response')),
      connectTimeoutMs,
    );
    outgoing.once('socket', (socket) => socket.once('secureConnect', () => timer.cancel()));
    outgoing.once('close', () => timer.cancel());
    outgoing.on('upgrade', (response, socket, head) => {
      if (response.headers[PROTOCOL_HEADER] === protocol) {
        // From here on the request no longer references its connection.
        const leave = (): void => void socket.destroy();
        signal.addEventListener('abort', leave, { once: true });
        socket.once('close', () => signal.removeEventListener('abort', leave));
        return resolve({ socket, head });
      }
      socket.destroy();
      return reject(agentUnreachable(new Error('it selected a different protocol than requested')));
    });
    outgoing.on('response', (response) => {
      refusal(response).then(reject, (thrown: unknown) => reject(agentUnreachable(thrown)));
    });
    outgoing.on('error', (error) => reject(agentUnreachable(error)));
    outgoing.end();
  });
}
