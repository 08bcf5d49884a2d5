/** Asks a CRI socket whether it serves, and notices when it stops, with nothing but HTTP/2:
 *  the clients of `cri-proto` are for whoever is sure that somebody answers. */
import { type ClientHttp2Session, connect } from 'node:http2';
import { createConnection } from 'node:net';

/** A CRI call without fields that answers only when the CRI service has finished starting. */
const STATUS_METHOD = '/runtime.v1.RuntimeService/Status';
/** One gRPC message of length zero. */
const EMPTY_MESSAGE = Buffer.alloc(5);
const ANSWER_TIMEOUT_MS = 5_000;

/** Whether something accepts connections on the socket. */
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

/** Whether the socket answers CRI calls with success. Never rejects. */
export function isServing(socketPath: string): Promise<boolean> {
  return new Promise((resolve) => {
    const session = openSession(socketPath);
    const finish = (answer: boolean): void => {
      session.destroy();
      resolve(answer);
    };
    session.once('error', () => finish(false));
    const stream = session.request({
      ':method': 'POST',
      ':path': STATUS_METHOD,
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    stream.setTimeout(ANSWER_TIMEOUT_MS, () => finish(false));
    stream.once('error', () => finish(false));
    stream.once('trailers', (trailers) => finish(trailers['grpc-status'] === '0'));
    // An error comes without a body, its status is then in the only header block.
    stream.once('response', (headers) => {
      if (headers['grpc-status'] !== undefined) finish(headers['grpc-status'] === '0');
    });
    stream.once('close', () => finish(false));
    stream.resume();
    stream.end(EMPTY_MESSAGE);
  });
}

/** Resolves when the server on the socket closes the connection, refuses it, or `signal` fires. */
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
