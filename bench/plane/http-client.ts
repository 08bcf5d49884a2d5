/** HTTP client with minimal overhead, so that the server is measured rather than the load: one TLS
 *  connection, one request at a time, responses parsed only as far as needed to find their end. */
import type { OnReadOpts } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';

export interface Target {
  readonly port: number;
  readonly ca: string;
  /** Absent: an anonymous client. */
  readonly cert: string | undefined;
  readonly key: string | undefined;
}

export interface Reply {
  readonly status: number;
  readonly body: Buffer;
}

const headOf = (method: string, path: string): string =>
  `${method} ${path} HTTP/1.1\r\nHost: localhost\r\nAccept: application/json\r\n`;

/** Returns the bytes of a streaming request that accepts compression, as upstream's clients do. */
export const streamRequestBytes = (path: string): Buffer =>
  Buffer.from(`${headOf('GET', path)}Accept-Encoding: gzip\r\n\r\n`);

/** Returns the bytes of a request. */
export function requestBytes(
  method: string,
  path: string,
  body?: string,
  contentType = 'application/json',
): Buffer {
  const head = headOf(method, path);
  if (body === undefined) return Buffer.from(`${head}\r\n`);
  const type = `Content-Type: ${contentType}\r\n`;
  return Buffer.from(`${head}${type}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
}

export interface HttpClient {
  send(request: Buffer): Promise<Reply>;
  close(): void;
}

export function openSocket(
  { port, ca, cert, key }: Target,
  reading: { readonly onread?: OnReadOpts } = {},
): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connect({
      port,
      host: '127.0.0.1',
      servername: 'localhost',
      ca,
      cert,
      key,
      ALPNProtocols: ['http/1.1'],
      ...reading,
    });
    socket.setNoDelay(true);
    socket.once('secureConnect', () => resolve(socket));
    socket.once('error', reject);
  });
}

const HEAD_END = Buffer.from('\r\n\r\n');
const LAST_CHUNK = Buffer.from('\r\n0\r\n\r\n');

/** Returns where the body of a response begins, and where it ends if its head says so; undefined while the
 *  head is incomplete. */
function partsOf(bytes: Buffer): { readonly head: number; readonly end: number | undefined } | undefined {
  const headEnd = bytes.indexOf(HEAD_END);
  if (headEnd < 0) return undefined;
  const head = headEnd + HEAD_END.length;
  const length = /\r\ncontent-length: (\d+)/i.exec(bytes.toString('latin1', 0, headEnd))?.[1];
  return { head, end: length === undefined ? undefined : head + Number(length) };
}

/** The last bytes may arrive in two pieces. */
const endsWithLastChunk = (pieces: readonly Buffer[]): boolean =>
  Buffer.concat(pieces.slice(-2).map((piece) => piece.subarray(-LAST_CHUNK.length)))
    .subarray(-LAST_CHUNK.length)
    .equals(LAST_CHUNK);

/** Joins the pieces lazily, so that receiving a response does not pay for it. */
class ReceivedReply implements Reply {
  readonly status: number;
  readonly #pieces: readonly Buffer[];
  readonly #head: number;
  readonly #end: number;

  constructor(pieces: readonly Buffer[], head: number, end: number) {
    this.status = Number(pieces[0]?.toString('latin1', 9, 12));
    this.#pieces = pieces;
    this.#head = head;
    this.#end = end;
  }

  get body(): Buffer {
    const [first] = this.#pieces;
    const all = this.#pieces.length === 1 && first !== undefined ? first : Buffer.concat(this.#pieces);
    return all.subarray(this.#head, this.#end);
  }
}

export async function openClient(target: Target): Promise<HttpClient> {
  const socket = await openSocket(target);
  let pieces: Buffer[] = [];
  let size = 0;
  let parts: ReturnType<typeof partsOf>;
  let waiting: ((reply: Reply) => void) | undefined;

  function finish(head: number, end: number): void {
    const reply = new ReceivedReply(pieces, head, end);
    pieces = [];
    size = 0;
    parts = undefined;
    const resolve = waiting;
    waiting = undefined;
    resolve?.(reply);
  }

  socket.on('error', () => undefined);
  socket.on('data', (data: Buffer) => {
    pieces.push(data);
    size += data.length;
    if (parts === undefined && pieces.length > 1) pieces = [Buffer.concat(pieces)];
    parts ??= partsOf(pieces[0] ?? data);
    if (parts === undefined) return;
    if (parts.end === undefined) {
      if (endsWithLastChunk(pieces)) finish(parts.head, size);
    } else if (size >= parts.end) finish(parts.head, parts.end);
  });
  return {
    send: (request) =>
      new Promise((resolve) => {
        waiting = resolve;
        socket.write(request);
      }),
    close: () => socket.destroy(),
  };
}

/** Sends a request with an endless response, and passes on its pieces, which are valid only during the call.
 *  @returns a function that ends it */
export async function openStream(
  target: Target,
  request: Buffer,
  onData: (bytes: Buffer) => void,
): Promise<() => void> {
  const buffer = Buffer.allocUnsafeSlow(64 * 1024);
  const socket = await openSocket(target, {
    onread: {
      buffer,
      callback(size) {
        onData(buffer.subarray(0, size));
        return true;
      },
    },
  });
  socket.on('error', () => undefined);
  socket.write(request);
  return () => socket.destroy();
}
