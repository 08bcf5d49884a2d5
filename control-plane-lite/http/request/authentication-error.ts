import { StatusError } from '#api/meta/status-error.ts';

/** An invalid credential. The response contains no details. */
export class AuthenticationError extends StatusError {
  constructor(detail: string) {
    super('Unauthorized', 'Unauthorized', { cause: new Error(detail) });
  }
}
