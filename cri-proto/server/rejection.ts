/** Errors with which a served method rejects its call. */
import { status } from '@grpc/grpc-js';

export type RejectionReason =
  | 'AlreadyExists'
  | 'DeadlineExceeded'
  | 'FailedPrecondition'
  | 'InvalidArgument'
  | 'NotFound'
  | 'ResourceExhausted'
  | 'Unauthenticated'
  | 'Unavailable'
  | 'Unimplemented'
  | 'Unknown';

export const REJECTION_CODES: Readonly<Record<RejectionReason, status>> = {
  AlreadyExists: status.ALREADY_EXISTS,
  DeadlineExceeded: status.DEADLINE_EXCEEDED,
  FailedPrecondition: status.FAILED_PRECONDITION,
  InvalidArgument: status.INVALID_ARGUMENT,
  NotFound: status.NOT_FOUND,
  ResourceExhausted: status.RESOURCE_EXHAUSTED,
  Unauthenticated: status.UNAUTHENTICATED,
  Unavailable: status.UNAVAILABLE,
  Unimplemented: status.UNIMPLEMENTED,
  Unknown: status.UNKNOWN,
};

/** A rejected call whose reason is returned to the caller. */
export class CallRejection extends Error {
  override readonly name = 'CallRejection';
  readonly reason: RejectionReason;

  constructor(reason: RejectionReason, message: string, cause?: unknown) {
    super(message, cause === undefined ? {} : { cause });
    this.reason = reason;
  }
}

/** Returns the reason of any error: that of a `CallRejection`, otherwise `Unknown`. */
export const reasonOf = (thrown: unknown): RejectionReason =>
  thrown instanceof CallRejection ? thrown.reason : 'Unknown';
