/** What a failed call on one of the node's gRPC sockets throws. */

/** gRPC's codes by number, as CamelCase tokens. Source: the gRPC status code list. */
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

/** `ConnectionClosed`: this side closed the connection. `BadResponse`: the answer could not be decoded. */
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
  /** The rpc's name: `RunPodSandbox`. */
  readonly method: string;
  /** What the other side said. */
  readonly details: string;
  readonly cause?: unknown;
}

/** A call that failed. Most runtimes answer `Unknown` for anything that went wrong inside them. */
export class CriError extends Error {
  override readonly name = 'CriError';
  readonly reason: CriErrorReason;
  readonly method: string;
  /** What the other side said, without the method in front. */
  readonly details: string;
  /** True if the failure lies in the connection or in load, not in what was asked: the same call may succeed later.
   *  Whether the runtime carried out the failed one is then unknown. */
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

/** The token of a gRPC code; `Unknown` for numbers that are none. */
export function reasonOfCode(code: number): CriErrorReason {
  const reason = REASONS[code];
  return reason === undefined || reason === 'Ok' ? 'Unknown' : reason;
}

export const isCriError = (thrown: unknown, reason: CriErrorReason): thrown is CriError =>
  thrown instanceof CriError && thrown.reason === reason;

/** True if the object that the call names does not exist: success, when it was to be stopped or removed. */
export const isNotFound = (thrown: unknown): thrown is CriError => isCriError(thrown, 'NotFound');

/** True if the other side does not have the method at all. */
export const isUnimplemented = (thrown: unknown): thrown is CriError => isCriError(thrown, 'Unimplemented');

/** True if the same call may succeed later without any change of its arguments. */
export const isRetryable = (thrown: unknown): boolean => thrown instanceof CriError && thrown.retryable;
