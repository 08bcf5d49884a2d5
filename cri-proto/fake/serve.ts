/** Adapts functions to gRPC handlers. */
import type { handleUnaryCall, sendUnaryData } from '@grpc/grpc-js';
import { asError } from '#api/kit/errno.ts';
import type { MessageInput } from '../message.ts';
import { FakeFailure } from './failure.ts';
import type { FaultInjector } from './faults.ts';

/** Creates a handler that applies injected faults first. `Request` is the decoded message, complete. */
export function serve<Request, Response>(
  faults: FaultInjector,
  rpc: string,
  handler: (request: Request) => MessageInput<Response> | Promise<MessageInput<Response>>,
): handleUnaryCall<Request, MessageInput<Response>> {
  return (call, callback) => {
    void respond(() => faults.pass(rpc, call.request, () => handler(call.request)), callback);
  };
}

async function respond<Response>(
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
