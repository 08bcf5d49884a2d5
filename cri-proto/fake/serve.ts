/** Turns functions into gRPC handlers, and tables into gRPC service definitions. */
import type { handleUnaryCall, ServiceDefinition, sendUnaryData } from '@grpc/grpc-js';
import type { MessageTypes } from '#api/codec/protobuf/message.ts';
import { asError } from '#api/kit/clock.ts';
import { methodName, type RpcFact } from '../client/service.ts';
import type { MessageInput } from '../message.ts';
import { FakeFailure } from './failure.ts';
import type { FaultGate } from './faults.ts';

/** A handler that passes the faults first. `Request` is the decoded message, complete. */
export function serve<Request, Response>(
  faults: FaultGate,
  rpc: string,
  handler: (request: Request) => MessageInput<Response> | Promise<MessageInput<Response>>,
): handleUnaryCall<Request, MessageInput<Response>> {
  return (call, callback) => {
    void answer(() => faults.pass(rpc, call.request, () => handler(call.request)), callback);
  };
}

async function answer<Response>(
  work: () => Promise<Response>,
  callback: sendUnaryData<Response>,
): Promise<void> {
  try {
    callback(null, await work());
  } catch (thrown) {
    callback(toStatus(thrown));
  }
}

function toStatus(thrown: unknown): FakeFailure {
  return thrown instanceof FakeFailure ? thrown : new FakeFailure('Internal', asError(thrown).message);
}

/** The definition of a service, with `path` made from each rpc's own. */
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
