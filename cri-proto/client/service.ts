/** Creates a typed client of a gRPC service from its descriptor table: one method per rpc. */

import { ProtobufError } from '#api/codec/protobuf/error.ts';
import { type MessageTypes } from '#api/codec/protobuf/message.ts';
import { asError } from '#api/kit/errno.ts';
import { CriError } from '../errors.ts';
import type { CallOptions } from '../message.ts';
import type { GrpcChannel } from './channel.ts';

/** Descriptor of one rpc. */
export interface RpcFact {
  readonly rpc: string;
  readonly request: string;
  readonly response: string;
  /** `/package.Service/Method`. */
  readonly path: string;
  readonly serverStreaming?: boolean;
}

/** Called when a unary call begins; the result is called when it ends, with its error. */
export type ObserveCall = (rpc: string) => (error: Error | undefined) => void;

export interface ServiceDeps {
  /** Observes every unary call. */
  readonly observe?: ObserveCall | undefined;
  readonly channel: Pick<GrpcChannel, 'unary' | 'stream'>;
  readonly types: MessageTypes;
  /** Default timeout of a call in ms; 0 means none. */
  readonly timeoutMs: (rpc: string, request: object) => number;
}

export type ServiceMethod = (request: object, options?: CallOptions) => unknown;

/** Returns the methods of a service by name (`runPodSandbox`): promises for unary rpcs, async iterables for
 *  server streams.
 *  They throw CriError, the signal's reason, or ProtobufError for a request of the wrong type.
 *  They match the interface generated from the same table. */
export function createMethods(
  deps: ServiceDeps,
  rpcs: readonly RpcFact[],
): Readonly<Record<string, ServiceMethod>> {
  return Object.fromEntries(
    rpcs.map((fact) => [
      methodName(fact.rpc),
      fact.serverStreaming === true ? createStreaming(deps, fact) : createUnary(deps, fact),
    ]),
  );
}

/** Returns the method name of an rpc: `runPodSandbox` for `RunPodSandbox`. */
export function methodName(rpc: string): string {
  return rpc.charAt(0).toLowerCase() + rpc.slice(1);
}

function createUnary(deps: ServiceDeps, fact: RpcFact): ServiceMethod {
  const requestType = deps.types.type(fact.request);
  const decode = createDecoder(deps, fact);
  return async function call(request, options = {}) {
    const timeoutMs = options.timeoutMs ?? deps.timeoutMs(fact.rpc, request);
    const bytes = requestType.encode(request);
    const ended = deps.observe?.(fact.rpc);
    try {
      const response = decode(
        await deps.channel.unary(fact.path, bytes, { signal: options.signal, timeoutMs }),
      );
      ended?.(undefined);
      return response;
    } catch (thrown) {
      ended?.(asError(thrown));
      throw thrown;
    }
  };
}

function createStreaming(deps: ServiceDeps, fact: RpcFact): ServiceMethod {
  const requestType = deps.types.type(fact.request);
  const decode = createDecoder(deps, fact);
  return async function* call(request, options = {}) {
    const timeoutMs = options.timeoutMs ?? deps.timeoutMs(fact.rpc, request);
    const bytes = requestType.encode(request);
    const chunks = deps.channel.stream(fact.path, bytes, { signal: options.signal, timeoutMs });
    for await (const chunk of chunks) yield decode(chunk);
  };
}

function createDecoder(deps: ServiceDeps, fact: RpcFact): (bytes: Uint8Array) => object {
  const type = deps.types.type(fact.response);
  return (bytes) => {
    try {
      return type.decode(bytes);
    } catch (cause) {
      if (!(cause instanceof ProtobufError)) throw cause;
      throw new CriError({ reason: 'BadResponse', method: fact.rpc, details: cause.message, cause });
    }
  };
}
