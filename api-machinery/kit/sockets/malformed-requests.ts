/** Responses to requests that no HTTP parser accepts. The client may still be sending: a connection that is closed with
 *  unread bytes is reset, and a reset discards the response. So the rest is read and discarded, within limits. */
import type { Server } from 'node:http';
import type { Server as SecureServer } from 'node:https';
import type { Duplex } from 'node:stream';

/** How long a client may take to read the response and end its side, in ms. */
const LINGER_MS = 5000;
/** A client that sends more is not listening. */
const MAX_DISCARDED_BYTES = 16 * 1024 * 1024;

const STATUSES: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};

/** Sockets in their last state. What is discarded is parsed as well, and each part reported as an error. */
const closing = new WeakSet<Duplex>();

/** Ends this side, and closes the connection once the peer has ended its own. */
function endGently(socket: Duplex, text: string): void {
  closing.add(socket);
  const close = (): void => void socket.destroy();
  const timer = setTimeout(close, LINGER_MS);
  timer.unref();
  let discarded = 0;
  socket.on('error', close);
  socket.on('data', (bytes: Buffer) => {
    discarded += bytes.length;
    if (discarded > MAX_DISCARDED_BYTES) close();
  });
  socket.once('end', close).once('close', () => clearTimeout(timer));
  socket.end(text);
  socket.resume();
}

/** Responds to an error of a server's connection.
 *  @param hasResponse the request has a response already, and gets no second one */
export function refuseMalformed(error: NodeJS.ErrnoException, socket: Duplex, hasResponse = false): void {
  if (closing.has(socket)) return;
  const isHttp = error.code?.startsWith('HPE_') === true || error.code === 'ERR_HTTP_REQUEST_TIMEOUT';
  if (!isHttp || !socket.writable) return void socket.destroy();
  const status = STATUSES[error.code ?? ''] ?? '400 Bad Request';
  endGently(
    socket,
    hasResponse ? '' : `HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`,
  );
}

/** Responds to all malformed requests of a server. */
export function refuseMalformedRequests(server: Server | SecureServer): void {
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => refuseMalformed(error, socket));
}
