/** A client that costs as little as possible, so that the server is measured and not the load: one TLS connection,
 *  one request at a time, answers read only as far as needed to know where they end. */
import { connect, type TLSSocket } from 'node:tls';

export interface Target {
  readonly port: number;
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

export interface Reply {
  readonly status: number;
  readonly body: Buffer;
}

/** Bytes of a request. */
export function requestBytes(
  method: string,
  path: string,
  body?: string,
  contentType = 'application/json',
): Buffer {
  const head = `${method} ${path} HTTP/1.1\r\nHost: localhost\r\nAccept: application/json\r\n`;
  if (body === undefined) return Buffer.from(`${head}\r\n`);
  const type = `Content-Type: ${contentType}\r\n`;
  return Buffer.from(`${head}${type}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
}

export interface HttpClient {
  send(request: Buffer): Promise<Reply>;
  /** Sends a request whose answer has no end, and hands on its pieces. */
  stream(request: Buffer, onData: (bytes: Buffer) => void): void;
  close(): void;
}

export function openSocket({ port, ca, cert, key }: Target): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connect({
      port,
      host: '127.0.0.1',
      servername: 'localhost',
      ca,
      cert,
      key,
      ALPNProtocols: ['http/1.1'],
    });
    socket.setNoDelay(true);
    socket.once('secureConnect', () => resolve(socket));
    socket.once('error', reject);
  });
}

const HEAD_END = Buffer.from('\r\n\r\n');
const LAST_CHUNK = Buffer.from('\r\n0\r\n\r\n');

/** Length of a whole answer at the start of the bytes; undefined while more is to come. */
function answerLength(bytes: Buffer): { readonly head: number; readonly end: number } | undefined {
  const headEnd = bytes.indexOf(HEAD_END);
  if (headEnd < 0) return undefined;
  const head = headEnd + HEAD_END.length;
  const text = bytes.toString('latin1', 0, headEnd);
  const length = /\r\ncontent-length: (\d+)/i.exec(text)?.[1];
  if (length !== undefined)
    return bytes.length < head + Number(length) ? undefined : { head, end: head + Number(length) };
  return bytes.length >= head + LAST_CHUNK.length && bytes.subarray(-LAST_CHUNK.length).equals(LAST_CHUNK)
    ? { head, end: bytes.length }
    : undefined;
}

export async function openClient(target: Target): Promise<HttpClient> {
  const socket = await openSocket(target);
  let pieces: Buffer[] = [];
  let size = 0;
  let needed = 0;
  let waiting: ((reply: Reply) => void) | undefined;
  let onStream: ((bytes: Buffer) => void) | undefined;
  socket.on('error', () => undefined);
  socket.on('data', (data: Buffer) => {
    if (onStream !== undefined) return onStream(data);
    pieces.push(data);
    size += data.length;
    if (size < needed) return;
    const bytes = pieces.length === 1 ? data : Buffer.concat(pieces);
    const found = answerLength(bytes);
    if (found === undefined) {
      pieces = [bytes];
      const length = /\r\ncontent-length: (\d+)/i.exec(
        bytes.toString('latin1', 0, Math.min(bytes.length, 1000)),
      )?.[1];
      needed = length === undefined ? 0 : Number(length);
      return;
    }
    pieces = [];
    size = 0;
    needed = 0;
    const resolve = waiting;
    waiting = undefined;
    resolve?.({
      status: Number(bytes.toString('latin1', 9, 12)),
      body: bytes.subarray(found.head, found.end),
    });
  });
  return {
    send: (request) =>
      new Promise((resolve) => {
        waiting = resolve;
        socket.write(request);
      }),
    stream(request, onData) {
      onStream = onData;
      socket.write(request);
    },
    close: () => socket.destroy(),
  };
}
