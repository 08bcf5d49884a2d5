/** A gRPC service as functions, independent of how it is served. */
import type { MessageTypes } from '#api/codec/protobuf/message.ts';
import type { RpcFact } from '../client/service.ts';

/** Receives the decoded request. May throw `CallRejection`; any other error is `Unknown` to the caller. */
export type ServedMethod = (request: object) => object | Promise<object>;

/** Yields responses until `signal` fires. */
export type ServedStream = (request: object, signal: AbortSignal) => AsyncIterable<object>;

export interface ServedService {
  readonly types: MessageTypes;
  readonly rpcs: readonly RpcFact[];
  /** Unary handlers by method name, such as `getInfo`; an rpc without a handler is not served. */
  readonly methods: Readonly<Record<string, ServedMethod>>;
  /** Handlers of server streams by method name. */
  readonly streams?: Readonly<Record<string, ServedStream>>;
}
