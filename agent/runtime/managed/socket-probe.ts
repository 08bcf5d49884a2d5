/** Probe of a CRI socket: checks whether it serves, and detects when it stops. Uses plain HTTP/2, as the
 *  clients of `cri-proto` require a responding server. */
import { type ClientHttp2Session, connect } from 'node:http2';
import { createConnection } from 'node:net';

/** A CRI call without fields that succeeds only once the CRI service has started. */
const STATUS_METHOD = '/runtime.v1.RuntimeService/Status';
/** One gRPC message of length zero. */
const EMPTY_MESSAGE = Buffer.alloc(5);
const RESPONSE_TIMEOUT_MS = 5_000;

/** Reports whether a server accepts connections on the socket. */
export function isListening(socketPath: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection(socketPath);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

/** Reports whether the socket responds to CRI calls with success. Never rejects. */
export function isServing(socketPath: string): Promise<boolean> {
  return new Promise((resolve) => {
    const session = openSession(socketPath);
    const finish = (serves: boolean): void => {
      session.destroy();
      resolve(serves);
    };
    session.once('error', () => finish(false));
    const stream = session.request({
      ':method': 'POST',
      ':path': STATUS_METHOD,
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    stream.setTimeout(RESPONSE_TIMEOUT_MS, () => finish(false));
    stream.once('error', () => finish(false));
    stream.once('trailers', (trailers) => finish(trailers['grpc-status'] === '0'));
    // An error response has no body; its status is in the only header block.
    stream.once('response', (headers) => {
      if (headers['grpc-status'] !== undefined) finish(headers['grpc-status'] === '0');
    });
    stream.once('close', () => finish(false));
    stream.resume();
    stream.end(EMPTY_MESSAGE);
  });
}

/** Resolves when the server on the socket closes or refuses the connection, or `signal` fires. */
export function untilClosed(socketPath: string, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const session = openSession(socketPath);
    const onAbort = (): void => session.destroy();
    const finish = (): void => {
      signal.removeEventListener('abort', onAbort);
      resolve();
    };
    session.once('error', () => session.destroy());
    session.once('close', finish);
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
}

function openSession(socketPath: string): ClientHttp2Session {
  return connect('http://localhost', { createConnection: () => createConnection(socketPath) });
}
