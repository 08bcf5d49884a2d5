/** Contract between the HTTP layers and request handlers. The connection and the pipeline create an
 *  `ApiRequest` for each request and write the `ApiResponse`; handlers know no sockets. A StatusError that a
 *  handler throws becomes a Status response; any other error is a 500 and a bug. */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import type { Duplex } from 'node:stream';
import type { UserInfo } from '../resources/contract.ts';

/** Verbs of resources; for other paths the method in lower case. */
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

/** The parsed path and method of a request. Source: resource paths and verbs, document 1 §4.1 and §4.2. */
export interface RequestInfo {
  /** Decoded path, without the query. */
  readonly path: string;
  /** Below `/api/<version>/` or `/apis/<group>/<version>/`. */
  readonly isResource: boolean;
  readonly verb: Verb;
  /** `''` for the core group and for non-resource paths. */
  readonly group: string;
  readonly version: string;
  readonly namespace: string;
  readonly resource: string;
  readonly subresource: string;
  readonly name: string;
  /** The path after the subresource, decoded (`proxy/a/b` → `a/b`). */
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
  /** Headers of the response that the server adds, as a flat list. */
  readonly extraHeaders?: readonly string[] | undefined;
  /** Aborted when the client is gone, the request times out, or the server stops. */
  readonly signal: AbortSignal;
  /** The whole body, decompressed. @throws StatusError RequestEntityTooLarge, BadRequest */
  readBody(): Promise<Buffer>;
  /** The audit log needs the response as JSON, whatever format the client gets. */
  readonly wantsJson?: boolean;
  /** Passes the value of a body that is not JSON to the audit log, once it is parsed. */
  noteBody?(value: unknown): void;
  /** Must be called when a watch has its initial state, or when another server took the request: from then on it
   *  occupies no seat. */
  initialized?(): void;
  /** Adds a Warning header (code 299). Has an effect until the response begins. */
  warn(text: string): void;
  /** Adds an annotation to the audit event. */
  annotate(key: string, value: string): void;
}

export interface BytesResponse {
  readonly kind: 'bytes';
  readonly status: number;
  readonly contentType: string;
  /** Chunks are written one after the other, without being joined. */
  readonly body: Buffer | readonly Buffer[];
  /** The same as JSON, for the audit log; absent if the body is JSON or no JSON is needed. */
  readonly json?: Buffer | readonly Buffer[];
  readonly headers?: Readonly<Record<string, string>>;
  /** `Cache-Control`. Default: `no-cache, private`. */
  readonly cacheControl?: string;
}

/** A response that does not end by itself, such as a watch. Never counted among the requests in flight. */
export interface StreamResponse {
  readonly kind: 'stream';
  readonly contentType: string;
  /** Reports whether it may be compressed for clients that accept it. */
  readonly compressible?: boolean;
  /** Subprotocol and frame type where the client requests a WebSocket instead of a chunked body. */
  readonly webSocket?: { readonly binary: boolean };
  /** Starts to write. Returns the function to call when the client leaves. */
  start(sink: StreamSink): () => void;
}

export interface StreamSink {
  /** Writes whole messages: one WebSocket frame each, or one chunk together. A client that does not read is
   *  disconnected when its backlog exceeds the server's limit.
   *  @param readers streams that write this very buffer; default 1 */
  write(bytes: Buffer, readers?: number): void;
  end(): void;
  /** Backpressure for large outputs: resolves once the client has taken most of the written bytes, or is
   *  gone; `undefined`: continue immediately. */
  drained?(): Promise<void> | undefined;
}

/** A raw handler, which uses the socket itself (exec, port-forward, proxies). */
export interface RawResponse {
  readonly kind: 'raw';
  /** For a request with `Upgrade`, `socket` is the connection and `head` its first bytes; otherwise `reply`
   *  responds. */
  run(raw: RawExchange): void | Promise<void>;
}

export type RawExchange =
  | {
      readonly kind: 'upgrade';
      readonly message: IncomingMessage;
      readonly socket: Duplex;
      readonly head: Buffer;
      /** Must be called when the upgraded protocol starts: until then a client that closes its side has left. */
      readonly begun: () => void;
    }
  | {
      readonly kind: 'plain';
      readonly message: IncomingMessage | Http2ServerRequest;
      readonly reply: ServerResponse | Http2ServerResponse;
    };

export type ApiResponse = BytesResponse | StreamResponse | RawResponse;

export type Handler = (request: ApiRequest) => ApiResponse | Promise<ApiResponse>;

/** Non-resource paths: `/healthz`, `/version`, `/openapi/v2`, `/apis`… */
export interface PathRoute {
  readonly path: string;
  /** Also matches every path below it. */
  readonly below?: boolean;
  readonly methods: readonly string[];
  readonly handler: Handler;
}

/** Requests in flight are limited by their kind. */
export type RequestKind = 'readOnly' | 'mutating';

/** The open audit record of a request. */
export interface AuditRecord {
  /** Resolves once the request may proceed; absent: at once. @throws StatusError if it must not */
  readonly admitted: Promise<void> | undefined;
  /** Processing failed because of a bug. */
  panicked(error: Error): void;
  /** The response has started and does not end by itself. */
  started(): void;
  /** The response is complete; `undefined` if the client left before or the response was a stream. */
  complete(response: BytesResponse | undefined): void;
}
