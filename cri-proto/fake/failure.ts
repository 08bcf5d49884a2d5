/** Errors of the fake. */
import { status } from '@grpc/grpc-js';
import type { CriErrorReason } from '../errors.ts';

/** gRPC codes that a runtime can return. */
export type FakeFailureReason = Exclude<CriErrorReason, 'ConnectionClosed' | 'BadResponse'>;

const CODES: Readonly<Record<FakeFailureReason, status>> = {
  Cancelled: status.CANCELLED,
  Unknown: status.UNKNOWN,
  InvalidArgument: status.INVALID_ARGUMENT,
  DeadlineExceeded: status.DEADLINE_EXCEEDED,
  NotFound: status.NOT_FOUND,
  AlreadyExists: status.ALREADY_EXISTS,
  PermissionDenied: status.PERMISSION_DENIED,
  ResourceExhausted: status.RESOURCE_EXHAUSTED,
  FailedPrecondition: status.FAILED_PRECONDITION,
  Aborted: status.ABORTED,
  OutOfRange: status.OUT_OF_RANGE,
  Unimplemented: status.UNIMPLEMENTED,
  Internal: status.INTERNAL,
  Unavailable: status.UNAVAILABLE,
  DataLoss: status.DATA_LOSS,
  Unauthenticated: status.UNAUTHENTICATED,
};

/** An error that reaches the client as the gRPC status of its reason. */
export class FakeFailure extends Error {
  override readonly name = 'FakeFailure';
  readonly code: status;
  readonly details: string;

  constructor(reason: FakeFailureReason, details: string) {
    super(details);
    this.code = CODES[reason];
    this.details = details;
  }
}
