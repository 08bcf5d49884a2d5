/** Failures of the API as the field knows them: a reason, its HTTP code, and a Status object for the wire. */
import type { Status } from '../schema/gen/meta-v1.ts';
import { type FieldError, formatFieldError } from './field-error.ts';

/** Every reason has exactly one HTTP code. */
const CODES = {
  BadRequest: 400,
  Unauthorized: 401,
  Forbidden: 403,
  NotFound: 404,
  MethodNotAllowed: 405,
  NotAcceptable: 406,
  AlreadyExists: 409,
  Conflict: 409,
  Gone: 410,
  Expired: 410,
  RequestEntityTooLarge: 413,
  UnsupportedMediaType: 415,
  Invalid: 422,
  TooManyRequests: 429,
  InternalError: 500,
  ServiceUnavailable: 503,
  Timeout: 504,
} as const;

export type StatusReason = keyof typeof CODES;

export class StatusError extends Error {
  readonly reason: StatusReason;
  readonly faults: readonly FieldError[];

  constructor(
    reason: StatusReason,
    message: string,
    options: { faults?: readonly FieldError[]; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
    this.name = 'StatusError';
    this.reason = reason;
    this.faults = options.faults ?? [];
  }

  get code(): number {
    return CODES[this.reason];
  }

  /** The Status object that a client gets. */
  toStatus(): Status {
    const causes = this.faults.map((fault) => ({
      reason: fault.kind,
      message: formatFieldError(fault),
      field: fault.field,
    }));
    return {
      apiVersion: 'v1',
      kind: 'Status',
      metadata: {},
      status: 'Failure',
      message: this.message,
      reason: this.reason,
      ...(causes.length === 0 ? {} : { details: { causes } }),
      code: this.code,
    };
  }
}
