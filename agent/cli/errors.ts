/** Failures of a command that are told to the person at the terminal, without a stack. */
import { describeError } from '#api/kit/error-chain.ts';

/** The command line makes no sense. Exit code 2. */
export class UsageError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'UsageError';
  }
}

/** The command was understood and could not be carried out. Exit code 1. */
export class CommandError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'CommandError';
  }
}

/** The command was broken off by a signal. The exit code is 128 and the signal's number. */
export class InterruptedError extends Error {
  readonly exitCode: number;

  constructor(exitCode: number) {
    super('interrupted');
    this.name = 'InterruptedError';
    this.exitCode = exitCode;
  }
}

/** An error and its causes on one line; a cause whose text is in the line already is not repeated. */
export const errorText = (error: Error): string => describeError(error);
