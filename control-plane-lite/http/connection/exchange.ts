/** One HTTP request with its response writer: the same interface for HTTP/1.1, HTTP/2 and upgrades,
 *  independent of the request's meaning. The responder calls `writeHead` once, then `write` and `end`; after
 *  the client is gone they do nothing. */
import type { X509Certificate } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Duplex, Readable } from 'node:stream';
import type { RawExchange } from '../contract.ts';

/** Facts about a connection, read once and shared by all requests on it. */
export interface ConnectionInfo {
  /** Empty on a unix socket. */
  readonly remoteAddress: string;
  /** The verified client certificate. The same object for every request of the connection, so that results
   *  can be cached by its identity. */
  readonly certificate: X509Certificate | undefined;
  readonly intermediates: readonly X509Certificate[];
  /** A request on the connection has authenticated. */
  readonly proven: boolean;
  prove(): void;
  /** Whose requests the connection carries, as far as its last request showed: a user name, or `unknownFlow`. */
  flow: string;
  /** Flow of anonymous clients and failed logins: all of an address together. No user has this name. */
  readonly unknownFlow: string;
}

export interface Upgrade {
  readonly message: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
  /** Must be called when the upgraded protocol starts. Until then a client that closes its side has left, as
   *  with any other request; from then on the other protocol decides. */
  readonly begun: () => void;
}

export interface Exchange {
  readonly method: string;
  /** As in the request line. */
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  /** Names and values of the headers as received. */
  readonly rawHeaders: string[];
  readonly connection: ConnectionInfo;
  /** Absent if the request has no body. */
  readonly body: Readable | undefined;
  readonly upgrade: Upgrade | undefined;
  /** The head of a response was written, or the exchange was handed over whole. */
  readonly begun: boolean;
  /** No response can be written any more. */
  readonly closed: boolean;
  /** Bytes written that the peer has not yet taken. */
  readonly backlogBytes: number;
  /** Sends `100 Continue` to a client that waits for it. Must be called before the body is read. */
  requestBody(): void;
  /** `headers` is a flat list of names and values; names may repeat. */
  writeHead(status: number, headers: readonly string[]): void;
  /** Sends the head now, without waiting for the first bytes of the body. */
  flushHead(): void;
  /** Returns false if the caller should wait for `onDrain` before it writes more. */
  write(bytes: Buffer): boolean;
  end(bytes?: Buffer): void;
  /** Destroys the connection, or the stream of an HTTP/2 connection. */
  destroy(): void;
  /** Called once the response is complete or the client is gone. */
  onClose(listener: () => void): void;
  onDrain(listener: () => void): void;
  /** Hands over the raw exchange; this object no longer manages it. */
  takeRaw(): RawExchange;
}

/** The client left before the response. Never sent to a client. */
export class ClientGoneError extends Error {
  override readonly name = 'ClientGoneError';

  constructor() {
    super('the client closed the connection before the response was complete');
  }
}
