/** One request and the way to answer it: the same face for HTTP/1.1, HTTP/2 and upgrades. Knows nothing of what is
 *  asked. Whoever answers calls `writeHead` once, then `write` and `end`; after the client is gone they do nothing. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Duplex, Readable } from 'node:stream';
import type { ConnectionInfo } from './connection.ts';
import type { RawExchange } from './contract.ts';

export interface Upgrade {
  readonly message: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
  /** To be called when the other protocol begins. Until then a client that ends its side has left, as with any other
   *  request; from then on that is for the other protocol to judge. */
  readonly begun: () => void;
}

export interface Exchange {
  readonly method: string;
  /** As in the request line. */
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  readonly connection: ConnectionInfo;
  /** Absent where the request has no body. */
  readonly body: Readable | undefined;
  readonly upgrade: Upgrade | undefined;
  /** The head of an answer was written, or the exchange was handed over whole. */
  readonly begun: boolean;
  /** Nothing can be answered any more. */
  readonly closed: boolean;
  /** Bytes written that the client's side hasn't taken yet. */
  readonly backlogBytes: number;
  /** Tells a client that waits with its body to send it. To be called before the body is read. */
  askForBody(): void;
  /** `headers` is a flat list of names and values; names may be there twice. */
  writeHead(status: number, headers: readonly string[]): void;
  /** Sends the head now, without waiting for the first bytes of the body. */
  flushHead(): void;
  /** False: wait for `onDrain` before writing more. */
  write(bytes: Buffer): boolean;
  end(bytes?: Buffer): void;
  /** Cuts the connection, or the stream of an HTTP/2 connection. */
  destroy(): void;
  /** When the answer is out, or the client is gone. */
  onClose(listener: () => void): void;
  onDrain(listener: () => void): void;
  /** Hands the exchange over: what follows is not this part's matter. */
  takeRaw(): RawExchange;
}

/** The client left before it was answered. Never shown to anyone. */
export class ClientGoneError extends Error {
  override readonly name = 'ClientGoneError';

  constructor() {
    super('the client closed the connection before the request was answered');
  }
}
