/** API errors: a reason, its HTTP code, and a Status object for the wire. */
import type { ListMeta, Status, StatusCause, StatusDetails } from '../gen/meta-v1.ts';
import { type FieldError, formatErrorDetail } from './field-error.ts';

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
  InsufficientStorage: 507,
} as const;

export type StatusReason = keyof typeof CODES;

export interface StatusErrorOptions {
  readonly errors?: readonly FieldError[];
  /** Kind (or resource), name and group of the failed object; seconds after which to retry. */
  readonly details?: Omit<StatusDetails, 'causes'>;
  /** Causes in addition to the validation errors. */
  readonly causes?: readonly StatusCause[];
  /** List metadata of the Status object: a token to continue with. */
  readonly metadata?: ListMeta;
  /** Overrides the reason's code. */
  readonly code?: number;
  readonly cause?: unknown;
}

export class StatusError extends Error {
  readonly reason: StatusReason;
  readonly errors: readonly FieldError[];
  readonly code: number;
  readonly details: Omit<StatusDetails, 'causes'>;
  readonly causes: readonly StatusCause[];
  readonly metadata: ListMeta;

  constructor(reason: StatusReason, message: string, options: StatusErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.name = 'StatusError';
    this.reason = reason;
    this.errors = options.errors ?? [];
    this.code = options.code ?? CODES[reason];
    this.details = options.details ?? {};
    this.causes = options.causes ?? [];
    this.metadata = options.metadata ?? {};
  }

  /** Returns the Status object for the client. */
  toStatus(): Status {
    const errors = this.errors.map((error) => ({
      reason: error.kind === 'FieldUnknown' ? 'FieldValueInvalid' : error.kind,
      message: formatErrorDetail(error),
      field: error.field,
    }));
    const causes = [...errors, ...this.causes];
    const details = { ...this.details, ...(causes.length === 0 ? {} : { causes }) };
    return {
      apiVersion: 'v1',
      kind: 'Status',
      metadata: this.metadata,
      status: 'Failure',
      message: this.message,
      reason: this.reason,
      ...(Object.keys(details).length === 0 ? {} : { details }),
      code: this.code,
    };
  }
}
