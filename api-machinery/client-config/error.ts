/** Validation errors of a client configuration as messages. */
import { type FieldError, formatFault, formatFieldError } from '../meta/field-error.ts';

/** Returns a message such as `/etc/agent.conf: users[0].user.exec.command: Required value: …`. */
export function formatClientConfigFault(file: string, fault: FieldError): string {
  return `${file}: ${fault.field === '' ? formatFault(fault) : formatFieldError(fault)}`;
}

/** An unusable client configuration. */
export class ClientConfigError extends Error {
  override readonly name = 'ClientConfigError';
  readonly reason = 'InvalidClientConfig';
  readonly file: string;
  readonly faults: readonly FieldError[];

  constructor(file: string, faults: readonly FieldError[], cause?: unknown) {
    const lines = faults.map((fault) => formatClientConfigFault(file, fault));
    super(lines.join('\n'), cause === undefined ? {} : { cause });
    this.file = file;
    this.faults = faults;
  }
}
