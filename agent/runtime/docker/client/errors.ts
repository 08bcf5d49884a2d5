/** Errors of requests to docker. */
import { asError, errorCode } from '#api/kit/errno.ts';
import { isObject, textOf } from '#api/kit/object.ts';
import type { RejectionReason } from '#cri/server/rejection.ts';

export type DockerErrorReason = Extract<
  RejectionReason,
  'NotFound' | 'AlreadyExists' | 'InvalidArgument' | 'Unauthenticated' | 'Unavailable' | 'Unknown'
>;

/** A failed request; the message is docker's. */
export class DockerError extends Error {
  override readonly name = 'DockerError';
  readonly reason: DockerErrorReason;

  constructor(reason: DockerErrorReason, message: string, cause?: unknown) {
    super(message, cause === undefined ? {} : { cause });
    this.reason = reason;
  }
}

const BY_STATUS: Readonly<Record<number, DockerErrorReason>> = {
  400: 'InvalidArgument',
  401: 'Unauthenticated',
  404: 'NotFound',
  409: 'AlreadyExists',
  503: 'Unavailable',
};

const CONNECTION_CODES: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOENT',
  'EPIPE',
  'EACCES',
]);

const memberOf = (value: Error, name: string): unknown => Reflect.get(value, name);

/** Classifies an error of the client library.
 *  @param what the failed request, such as `start container` */
export function toDockerError(thrown: unknown, what: string): DockerError {
  const error = asError(thrown);
  if (error instanceof DockerError) return error;
  const status = memberOf(error, 'statusCode');
  if (typeof status === 'number') {
    const body = memberOf(error, 'json');
    const message = isObject(body) ? textOf(body['message']) : '';
    return new DockerError(BY_STATUS[status] ?? 'Unknown', `${what}: ${message || error.message.trim()}`);
  }
  const code = errorCode(error) ?? '';
  const isAway = CONNECTION_CODES.has(code) || error.message === 'socket hang up';
  return new DockerError(isAway ? 'Unavailable' : 'Unknown', `${what}: ${error.message}`, error);
}

export const isMissing = (thrown: unknown): boolean =>
  thrown instanceof DockerError && thrown.reason === 'NotFound';
