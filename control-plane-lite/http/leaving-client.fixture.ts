/** Clients that can disconnect at any moment, one request each, for tests. */
import { type ClientHttp2Session, connect as connectHttp2, constants } from 'node:http2';
import { connect as connectTcp } from 'node:net';
import { closed, firstOf } from './events.fixture.ts';

export interface LeavingClient {
  /** Resolves once the response or the connection has ended. */
  readonly over: Promise<unknown>;
  leave(): void;
}

export interface Sent {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer;
  /** Bytes of the body that are never sent. */
  readonly held?: number;
  /** Reads nothing of the response. */
  readonly stalls?: boolean;
}

export type Protocol = 'HTTP/1.1' | 'HTTP/2' | 'WebSocket';

const HANDSHAKE = [
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
];

const bytesOf = ({ body, held = 0 }: Sent): Buffer | undefined => body?.subarray(0, body.length - held);

function overTcp(port: number, sent: Sent, lines: readonly string[]): LeavingClient {
  const socket = connectTcp(port, '127.0.0.1');
  socket.on('error', () => undefined);
  const headers = Object.entries({ host: 'x', ...sent.headers }).map(([name, value]) => `${name}: ${value}`);
  const length = sent.body === undefined ? [] : [`Content-Length: ${sent.body.length}`];
  const head = [`${sent.method} ${sent.path} HTTP/1.1`, ...headers, ...length, ...lines].join('\r\n');
  socket.write(`${head}\r\n\r\n`, 'latin1');
  const bytes = bytesOf(sent);
  if (bytes !== undefined) socket.write(bytes);
  if (sent.stalls !== true) socket.resume();
  return { over: closed(socket), leave: () => socket.destroy() };
}

function overHttp2(session: ClientHttp2Session, sent: Sent): LeavingClient {
  const stream = session.request(
    { ':method': sent.method, ':path': sent.path, ...sent.headers },
    { endStream: sent.body === undefined },
  );
  stream.on('error', () => undefined);
  const bytes = bytesOf(sent);
  if (bytes !== undefined && (sent.held ?? 0) > 0) stream.write(bytes);
  else if (bytes !== undefined) stream.end(bytes);
  if (sent.stalls !== true) stream.resume();
  return { over: closed(stream), leave: () => stream.close(constants.NGHTTP2_CANCEL) };
}

export interface LeavingClients extends AsyncDisposable {
  send(protocol: Protocol, sent: Sent): LeavingClient;
}

/** @param plainPort speaks HTTP/1.1 without TLS @param tlsPort HTTP/2 */
export function createLeavingClients(plainPort: number, tlsPort: number, ca: string): LeavingClients {
  let session: ClientHttp2Session | undefined;
  return {
    send(protocol, sent) {
      if (protocol !== 'HTTP/2') {
        return overTcp(plainPort, sent, protocol === 'WebSocket' ? HANDSHAKE : ['Connection: close']);
      }
      // A server closes sessions in which very many streams were reset.
      if (session === undefined || session.closed || session.destroyed) {
        session = connectHttp2(`https://127.0.0.1:${tlsPort}`, { ca });
        session.on('error', () => undefined);
      }
      return overHttp2(session, sent);
    },
    async [Symbol.asyncDispose]() {
      if (session === undefined || session.destroyed) return;
      const gone = firstOf(session, 'close');
      session.destroy();
      await gone;
    },
  };
}
