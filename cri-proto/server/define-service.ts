/** Creates gRPC service definitions from descriptor tables. */
import type { ServiceDefinition } from '@grpc/grpc-js';
import type { MessageTypes } from '#api/codec/protobuf/message.ts';
import { methodName, type RpcFact } from '../client/service.ts';

/** Returns the definition of a service, with `path` derived from each rpc. */
export function defineService(
  types: MessageTypes,
  rpcs: readonly RpcFact[],
  path: (rpcPath: string) => string,
): ServiceDefinition {
  return Object.fromEntries(
    rpcs.map((fact) => {
      const request = types.type(fact.request);
      const response = types.type(fact.response);
      const definition = {
        path: path(fact.path),
        requestStream: false,
        responseStream: fact.serverStreaming === true,
        requestSerialize: (message: object) => Buffer.from(request.encode(message)),
        requestDeserialize: (bytes: Buffer) => request.decode(bytes),
        responseSerialize: (message: object) => Buffer.from(response.encode(message)),
        responseDeserialize: (bytes: Buffer) => response.decode(bytes),
      };
      return [methodName(fact.rpc), definition] as const;
    }),
  );
}
