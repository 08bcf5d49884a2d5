/** Errors of requests to the API server. */
import type { StatusDetails } from '#api/gen/meta-v1.ts';

/** The server responded with an error. */
export class ApiRequestError extends Error {
  override readonly name = 'ApiRequestError';
  /** HTTP status. */
  readonly status: number;
  /** Such as `NotFound`; `Unknown` if the server gives no reason. */
  readonly reason: string;
  readonly details: StatusDetails;

  constructor(
    failure: { readonly status: number; readonly reason: string; readonly message: string },
    details: StatusDetails = {},
  ) {
    super(failure.message);
    this.status = failure.status;
    this.reason = failure.reason;
    this.details = details;
  }

  /** Reports whether the same request may succeed later. */
  get retryable(): boolean {
    return this.status === 429 || this.status >= 500;
  }
}

/** The server is unreachable, or closed the connection. */
export class ServerUnreachableError extends Error {
  override readonly name = 'ServerUnreachableError';
  readonly reason = 'ServerUnreachable';
  readonly retryable = true;
}

/** Creates the error for a Status object or any other response body. */
export function readApiFailure(status: number, value: unknown, text: string): ApiRequestError {
  const unknown = {
    status,
    reason: 'Unknown',
    message: `the server responded with ${status}: ${text.slice(0, 200)}`,
  };
  if (typeof value !== 'object' || value === null || !('message' in value))
    return new ApiRequestError(unknown);
  if (typeof value.message !== 'string') return new ApiRequestError(unknown);
  const reason = 'reason' in value && typeof value.reason === 'string' ? value.reason : 'Unknown';
  const code = 'code' in value && typeof value.code === 'number' ? value.code : status;
  return new ApiRequestError({ status: code, reason, message: value.message }, readDetails(value));
}

function readDetails(value: object): StatusDetails {
  const details = 'details' in value ? value.details : undefined;
  if (typeof details !== 'object' || details === null) return {};
  const text = (name: string): string | undefined => {
    const member: unknown = Reflect.get(details, name);
    return typeof member === 'string' ? member : undefined;
  };
  const [name, group, kind, uid] = [text('name'), text('group'), text('kind'), text('uid')];
  const after: unknown = Reflect.get(details, 'retryAfterSeconds');
  return {
    ...(name === undefined ? {} : { name }),
    ...(group === undefined ? {} : { group }),
    ...(kind === undefined ? {} : { kind }),
    ...(uid === undefined ? {} : { uid }),
    ...(typeof after === 'number' ? { retryAfterSeconds: after } : {}),
  };
}
