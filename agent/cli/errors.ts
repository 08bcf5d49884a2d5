/** Failures of a command that are reported to the user without a stack trace. */
import { describeError } from '#api/kit/error-chain.ts';

/** The command line is invalid. Exit code 2. */
export class UsageError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'UsageError';
  }
}

/** The command is valid but failed. Exit code 1. */
export class CommandError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'CommandError';
  }
}

/** The command was interrupted by a signal. The exit code is 128 plus the number of the signal. */
export class InterruptedError extends Error {
  readonly exitCode: number;

  constructor(exitCode: number) {
    super('interrupted');
    this.name = 'InterruptedError';
    this.exitCode = exitCode;
  }
}

/** Formats an error and its causes on one line; skips a cause whose text is already contained. */
export const errorText = (error: Error): string => describeError(error);

/** A failure with another exit code than 1. */
export class ExitError extends Error {
  readonly exitCode: number;

  constructor(exitCode: number, cause: Error) {
    super(cause.message, { cause });
    this.name = 'ExitError';
    this.exitCode = exitCode;
  }
}
