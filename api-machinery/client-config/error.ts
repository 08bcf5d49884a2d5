/** Validation errors of a client configuration as messages. */
import { type FieldError, formatErrorDetail, formatFieldError } from '../meta/field-error.ts';

/** Returns a message such as `/etc/agent.conf: users[0].user.exec.command: Required value: …`. */
export function formatClientConfigError(file: string, error: FieldError): string {
  return `${file}: ${error.field === '' ? formatErrorDetail(error) : formatFieldError(error)}`;
}

/** An unusable client configuration. */
export class ClientConfigError extends Error {
  override readonly name = 'ClientConfigError';
  readonly reason = 'InvalidClientConfig';
  readonly file: string;
  readonly errors: readonly FieldError[];

  constructor(file: string, errors: readonly FieldError[], cause?: unknown) {
    const lines = errors.map((error) => formatClientConfigError(file, error));
    super(lines.join('\n'), cause === undefined ? {} : { cause });
    this.file = file;
    this.errors = errors;
  }
}
