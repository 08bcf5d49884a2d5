/** HTTP/1.1 exchanges: ordinary requests and upgrade requests. */
import { type IncomingHttpHeaders, type IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex, Readable } from 'node:stream';
import type { RawExchange } from '../contract.ts';
import type { Framer } from './chunk-frames.ts';
import type { ConnectionInfo, Exchange, Upgrade } from './exchange.ts';

export interface Http1Options {
  readonly message: IncomingMessage;
  readonly reply: ServerResponse;
  readonly connection: ConnectionInfo;
  /** The client waits for `100 Continue` before it sends its body. */
  readonly expectsContinue: boolean;
  /** Reports whether connections are to be closed after their response. */
  readonly isDraining: () => boolean;
  readonly frame: Framer;
}

/** Up to this size head and body go out in one write, for which Node needs the body as a latin1 string. As
 *  bytes they would be two buffers, joined again for encryption. */
const ONE_WRITE_BYTES = 64 * 1024;

const ignore = (): void => undefined;

export class Http1Exchange implements Exchange {
  readonly #message: IncomingMessage;
  readonly #reply: ServerResponse;
  readonly #isDraining: () => boolean;
  readonly connection: ConnectionInfo;
  readonly upgrade: undefined;
  readonly #frame: Framer;
  #awaitsContinue: boolean;
  #flushed = false;

  constructor(options: Http1Options) {
    this.#message = options.message;
    this.#reply = options.reply;
    this.connection = options.connection;
    this.#awaitsContinue = options.expectsContinue;
    this.#isDraining = options.isDraining;
    this.#frame = options.frame;
    // A write to a client that just left fails here; `onClose` reports it as well.
    options.reply.on('error', ignore);
  }

  get method(): string {
    return this.#message.method ?? '';
  }

  get target(): string {
    return this.#message.url ?? '';
  }

  get headers(): IncomingHttpHeaders {
    return this.#message.headers;
  }

  get rawHeaders(): string[] {
    return this.#message.rawHeaders;
  }

  get body(): Readable | undefined {
    const { headers } = this.#message;
    const length = headers['content-length'];
    const hasBody = headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0');
    return hasBody ? this.#message : undefined;
  }

  get begun(): boolean {
    return this.#reply.headersSent;
  }

  get closed(): boolean {
    return this.#reply.destroyed || this.#reply.writableEnded;
  }

  get backlogBytes(): number {
    return this.#reply.writableLength;
  }

  requestBody(): void {
    if (this.#awaitsContinue && !this.closed) this.#reply.writeContinue();
    this.#awaitsContinue = false;
  }

  writeHead(status: number, headers: readonly string[]): void {
    if (this.closed || this.begun) return;
    // A client that never received `100 Continue` may send its body or not, so the start of its next request
    // is unknown.
    const last = this.#awaitsContinue || this.#isDraining();
    this.#reply.writeHead(status, last ? [...headers, 'Connection', 'close'] : [...headers]);
  }

  flushHead(): void {
    if (this.closed) return;
    this.#reply.flushHeaders();
    this.#flushed = true;
  }

  write(bytes: Buffer): boolean {
    if (this.closed || bytes.length === 0) return true;
    const socket = this.#chunkSocket();
    return socket === undefined ? this.#reply.write(bytes) : socket.write(this.#frame(bytes));
  }

  /** Whole chunks can be written once the head is on its way and no earlier response is. */
  #chunkSocket(): Socket | undefined {
    const { chunkedEncoding, socket } = this.#reply;
    return this.#flushed && chunkedEncoding ? (socket ?? undefined) : undefined;
  }

  end(bytes?: Buffer): void {
    if (this.closed) return;
    if (bytes === undefined || bytes.length > ONE_WRITE_BYTES) this.#reply.end(bytes);
    else this.#reply.end(bytes.toString('latin1'), 'latin1');
  }

  destroy(): void {
    this.#reply.destroy();
  }

  onClose(listener: () => void): void {
    this.#reply.on('close', listener);
  }

  onDrain(listener: () => void): void {
    (this.#chunkSocket() ?? this.#reply).once('drain', listener);
  }

  takeRaw(): RawExchange {
    this.requestBody();
    return { kind: 'plain', message: this.#message, reply: this.#reply };
  }
}

/** An upgrade request. It can still be responded to like any other request; the connection then closes. */
export class UpgradeExchange implements Exchange {
  readonly upgrade: Upgrade;
  readonly connection: ConnectionInfo;
  readonly body: undefined;
  readonly #writtenBefore: number;
  #reply: ServerResponse | undefined;

  constructor(message: IncomingMessage, socket: Duplex, head: Buffer, connection: ConnectionInfo) {
    const leave = (): void => void socket.destroy();
    this.upgrade = { message, socket, head, begun: () => void socket.off('end', leave) };
    this.connection = connection;
    this.#writtenBefore = this.#written();
    // The owner of the upgraded socket listens for itself. Until then a reset or the end of the client's side
    // means only that the client left, as for any other request.
    socket.on('error', ignore);
    socket.once('end', leave);
  }

  get method(): string {
    return this.upgrade.message.method ?? '';
  }

  get target(): string {
    return this.upgrade.message.url ?? '';
  }

  get headers(): IncomingHttpHeaders {
    return this.upgrade.message.headers;
  }

  get rawHeaders(): string[] {
    return this.upgrade.message.rawHeaders;
  }

  get begun(): boolean {
    return this.#reply?.headersSent === true || this.#written() > this.#writtenBefore;
  }

  get closed(): boolean {
    return this.upgrade.socket.destroyed || this.#reply?.writableEnded === true;
  }

  get backlogBytes(): number {
    return this.upgrade.socket.writableLength;
  }

  #written(): number {
    return this.upgrade.socket instanceof Socket ? this.upgrade.socket.bytesWritten : 0;
  }

  requestBody(): void {
    // An upgrade request has no body to wait for.
  }

  writeHead(status: number, headers: readonly string[]): void {
    const { message, socket } = this.upgrade;
    if (this.closed || this.begun || !(socket instanceof Socket)) return;
    const reply = new ServerResponse(message);
    reply.on('error', ignore);
    // A client that does not close its side holds no resources.
    reply.on('finish', () => socket.destroySoon());
    reply.assignSocket(socket);
    reply.writeHead(status, [...headers, 'Connection', 'close']);
    this.#reply = reply;
  }

  flushHead(): void {
    this.#reply?.flushHeaders();
  }

  write(bytes: Buffer): boolean {
    return this.closed || this.#reply?.write(bytes) !== false;
  }

  end(bytes?: Buffer): void {
    if (this.closed) return;
    if (this.#reply === undefined) this.upgrade.socket.destroy();
    else this.#reply.end(bytes);
  }

  destroy(): void {
    this.upgrade.socket.destroy();
  }

  onClose(listener: () => void): void {
    this.upgrade.socket.once('close', listener);
  }

  onDrain(listener: () => void): void {
    this.upgrade.socket.once('drain', listener);
  }

  takeRaw(): RawExchange {
    return { kind: 'upgrade', ...this.upgrade };
  }
}
