/** HTTP/2 exchanges: one stream each. Uses the stream itself, because Node's compatibility objects cost more
 *  than the rest of a small request; they are created only for handlers that need the raw exchange. */
import {
  Http2ServerRequest,
  Http2ServerResponse,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2';
import type { Readable } from 'node:stream';
import type { RawExchange } from '../contract.ts';
import type { ConnectionInfo, Exchange } from './exchange.ts';

/** Headers that are specific to an HTTP/1.1 connection and not allowed on a stream. */
const CONNECTION_HEADERS: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
]);

export interface Http2Options {
  readonly stream: ServerHttp2Stream;
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: string[];
  readonly connection: ConnectionInfo;
}

const ignore = (): void => undefined;

function headerObject(
  status: number,
  headers: readonly string[],
): Record<string, string | number | string[]> {
  const object: Record<string, string | number | string[]> = { ':status': status };
  for (let index = 0; index < headers.length; index += 2) {
    const name = (headers[index] ?? '').toLowerCase();
    if (CONNECTION_HEADERS.has(name)) continue;
    const value = headers[index + 1] ?? '';
    const before = object[name];
    object[name] = before === undefined ? value : [...[before].flat().map(String), value];
  }
  return object;
}

export class Http2Exchange implements Exchange {
  readonly #stream: ServerHttp2Stream;
  readonly rawHeaders: string[];
  readonly method: string;
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  readonly connection: ConnectionInfo;
  readonly upgrade: undefined;
  #waitsForAsking: boolean;
  #ended = false;

  constructor(options: Http2Options) {
    const { headers } = options;
    this.#stream = options.stream;
    this.rawHeaders = options.rawHeaders;
    this.headers = headers;
    this.connection = options.connection;
    this.method = headers[':method'] ?? '';
    this.target = headers[':path'] ?? '';
    this.#waitsForAsking = headers['expect'] === '100-continue';
    // The client reset the stream; `onClose` reports it as well.
    options.stream.on('error', ignore);
  }

  get body(): Readable | undefined {
    return this.#stream.endAfterHeaders ? undefined : this.#stream;
  }

  get begun(): boolean {
    return this.#stream.headersSent;
  }

  get closed(): boolean {
    return this.#ended || this.#stream.destroyed || this.#stream.closed;
  }

  get backlogBytes(): number {
    return this.#stream.writableLength;
  }

  requestBody(): void {
    if (this.#waitsForAsking && !this.closed) this.#stream.additionalHeaders({ ':status': 100 });
    this.#waitsForAsking = false;
  }

  writeHead(status: number, headers: readonly string[]): void {
    if (!this.closed && !this.begun) this.#stream.respond(headerObject(status, headers));
  }

  flushHead(): void {
    // `respond` has already sent it.
  }

  write(bytes: Buffer): boolean {
    return this.closed || this.#stream.write(bytes);
  }

  end(bytes?: Buffer): void {
    if (this.closed) return;
    this.#ended = true;
    if (bytes === undefined || this.method === 'HEAD') this.#stream.end();
    else this.#stream.end(bytes);
  }

  destroy(): void {
    this.#stream.destroy();
  }

  onClose(listener: () => void): void {
    this.#stream.once('close', listener);
  }

  onDrain(listener: () => void): void {
    this.#stream.once('drain', listener);
  }

  takeRaw(): RawExchange {
    this.requestBody();
    const message = new Http2ServerRequest(this.#stream, this.headers, {}, this.rawHeaders);
    return { kind: 'plain', message, reply: new Http2ServerResponse(this.#stream) };
  }
}
