/** What lies between the HTTP connection and those who answer requests. The connection side (listener, pipeline)
 *  makes an `ApiRequest` of each request and writes the `ApiResponse`; handlers know no sockets. A handler that
 *  throws a StatusError has it answered as a Status object; any other error is a 500 and a bug. */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import type { Duplex } from 'node:stream';
import type { UserInfo } from '../resources/contract.ts';

/** Verbs of resources; of other paths the method in lower case. */
export type Verb =
  | 'get'
  | 'list'
  | 'watch'
  | 'create'
  | 'update'
  | 'patch'
  | 'delete'
  | 'deletecollection'
  | (string & {});

/** What a path and method mean. Source: document 1, 4.1 and 4.2. */
export interface RequestInfo {
  /** Decoded path, without the query. */
  readonly path: string;
  /** Below `/api/<version>/` or `/apis/<group>/<version>/`. */
  readonly isResource: boolean;
  readonly verb: Verb;
  /** `''` for the core group and for paths of no resource. */
  readonly group: string;
  readonly version: string;
  readonly namespace: string;
  readonly resource: string;
  readonly subresource: string;
  readonly name: string;
  /** What follows the subresource, decoded (`proxy/a/b` → `a/b`). */
  readonly rest: string;
}

export interface ApiRequest {
  /** Audit ID. */
  readonly id: string;
  readonly method: string;
  readonly info: RequestInfo;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly user: UserInfo;
  readonly receivedMs: number;
  /** Aborted when the client is gone, time is up, or the server ends. */
  readonly signal: AbortSignal;
  /** The whole body, decompressed. @throws StatusError RequestEntityTooLarge, BadRequest */
  readBody(): Promise<Buffer>;
  /** The audit log wants the answer as JSON, whatever the client gets. */
  readonly wantsJson?: boolean;
  /** Tells the audit log the value of a body that was no JSON, as soon as it is read. */
  noteBody?(value: unknown): void;
  /** Adds a Warning header (code 299). Has an effect until the response begins. */
  warn(text: string): void;
  /** Adds an annotation to the audit event. */
  annotate(key: string, value: string): void;
}

export interface BytesResponse {
  readonly kind: 'bytes';
  readonly status: number;
  readonly contentType: string;
  /** Pieces are written one after the other, without being joined. */
  readonly body: Buffer | readonly Buffer[];
  /** The same as JSON, for the audit log; absent where the body is JSON, or nobody wants it. */
  readonly json?: Buffer | readonly Buffer[];
  readonly headers?: Readonly<Record<string, string>>;
  /** How clients may keep it. Default: `no-cache, private`. */
  readonly cacheControl?: string;
}

/** An answer without an end of its own, such as a watch. Never counted among the requests in flight. */
export interface StreamResponse {
  readonly kind: 'stream';
  readonly contentType: string;
  /** Whether it may be compressed for clients that accept it. */
  readonly compressible?: boolean;
  /** Subprotocol and frame type where the client asks for a WebSocket instead of a chunked body. */
  readonly webSocket?: { readonly binary: boolean };
  /** Starts to write. Returns what is to be called when the client goes away. */
  start(sink: StreamSink): () => void;
}

export interface StreamSink {
  /** Whole messages: one WebSocket frame each, or one chunk together. A client that does not read is cut off when
   *  its backlog exceeds the server's limit.
   *  @param readers streams that get this very buffer; default 1 */
  write(bytes: Buffer, readers?: number): void;
  end(): void;
  /** For those who have much to say: resolves when the client has taken most of what was written, or is gone;
   *  `undefined`: go on at once. */
  drained?(): Promise<void> | undefined;
}

/** A pass-through point: the handler speaks to the socket itself (exec, port-forward, proxies). */
export interface RawResponse {
  readonly kind: 'raw';
  /** For a request with `Upgrade`, `socket` is the connection and `head` its first bytes; else `reply` answers. */
  run(raw: RawExchange): void | Promise<void>;
}

export type RawExchange =
  | {
      readonly kind: 'upgrade';
      readonly message: IncomingMessage;
      readonly socket: Duplex;
      readonly head: Buffer;
      /** To be called when the other protocol begins: until then a client that ends its side has left. */
      readonly begun: () => void;
    }
  | {
      readonly kind: 'plain';
      readonly message: IncomingMessage | Http2ServerRequest;
      readonly reply: ServerResponse | Http2ServerResponse;
    };

export type ApiResponse = BytesResponse | StreamResponse | RawResponse;

export type Handler = (request: ApiRequest) => ApiResponse | Promise<ApiResponse>;

/** Paths of no resource: `/healthz`, `/version`, `/openapi/v2`, `/apis`… */
export interface PathRoute {
  readonly path: string;
  /** Everything below it as well. */
  readonly below?: boolean;
  readonly methods: readonly string[];
  readonly handler: Handler;
}
