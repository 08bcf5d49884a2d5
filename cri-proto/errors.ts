/** Errors of calls on the gRPC sockets of the node. */

/** gRPC status codes by number, in CamelCase. Source: the gRPC status code list. */
const REASONS = [
  'Ok',
  'Cancelled',
  'Unknown',
  'InvalidArgument',
  'DeadlineExceeded',
  'NotFound',
  'AlreadyExists',
  'PermissionDenied',
  'ResourceExhausted',
  'FailedPrecondition',
  'Aborted',
  'OutOfRange',
  'Unimplemented',
  'Internal',
  'Unavailable',
  'DataLoss',
  'Unauthenticated',
] as const;

/** `ConnectionClosed`: this side closed the connection. `BadResponse`: the response could not be decoded. */
export type CriErrorReason = Exclude<(typeof REASONS)[number], 'Ok'> | 'ConnectionClosed' | 'BadResponse';

const RETRYABLE: ReadonlySet<CriErrorReason> = new Set([
  'Cancelled',
  'DeadlineExceeded',
  'ResourceExhausted',
  'Aborted',
  'Unavailable',
]);

export interface CriErrorInit {
  readonly reason: CriErrorReason;
  /** Name of the rpc: `RunPodSandbox`. */
  readonly method: string;
  /** Error message of the server. */
  readonly details: string;
  readonly cause?: unknown;
}

/** A failed call. Most runtimes return `Unknown` for internal errors. */
export class CriError extends Error {
  override readonly name = 'CriError';
  readonly reason: CriErrorReason;
  readonly method: string;
  /** Error message of the server, without the method prefix. */
  readonly details: string;
  /** True if the connection or overload caused the failure: the same call may succeed later.
   *  It is then unknown whether the runtime executed the failed one. */
  readonly retryable: boolean;

  constructor(init: CriErrorInit) {
    const { reason, method, details, cause } = init;
    super(`${method}: ${details === '' ? reason : details}`, cause === undefined ? {} : { cause });
    this.reason = reason;
    this.method = method;
    this.details = details;
    this.retryable = RETRYABLE.has(reason);
  }
}

/** Returns the name of a gRPC code; `Unknown` for other numbers. */
export function reasonOfCode(code: number): CriErrorReason {
  const reason = REASONS[code];
  return reason === undefined || reason === 'Ok' ? 'Unknown' : reason;
}

export const isCriError = (thrown: unknown, reason: CriErrorReason): thrown is CriError =>
  thrown instanceof CriError && thrown.reason === reason;

/** Reports whether the object of the call does not exist: success for stopping or removing it. */
export const isNotFound = (thrown: unknown): thrown is CriError => isCriError(thrown, 'NotFound');

/** Reports whether the server does not implement the method. */
export const isUnimplemented = (thrown: unknown): thrown is CriError => isCriError(thrown, 'Unimplemented');

/** Reports whether the same call may succeed later. */
export const isRetryable = (thrown: unknown): boolean => thrown instanceof CriError && thrown.retryable;
