/** Logger whose lines show where they were logged. */
import type { Logger } from '../logger.ts';
import { callerOf, isAt } from './caller.ts';
import type { ProcessLogger } from './contract.ts';

/** Lines that show where they were logged. */
export interface CallerOptions {
  /** Every line has the location of its call. */
  readonly isShown: boolean;
  /** Lines that are logged at `file:line` have a stack trace; empty for none. */
  readonly backtraceAt: string;
}

/** Adds the location of the call to the fields, and a stack trace where it is requested. */
export class CallerLogger implements ProcessLogger {
  readonly #out: Logger;
  readonly #options: CallerOptions;

  readonly #verbosity: Pick<ProcessLogger, 'setVerbosity'>;

  /** @param out decides which lines are written */
  constructor(out: Logger, options: CallerOptions, verbosity: Pick<ProcessLogger, 'setVerbosity'>) {
    this.#out = out;
    this.#options = options;
    this.#verbosity = verbosity;
  }

  error(fields: object, message: string): void {
    this.#out.error(this.#located(fields, CallerLogger.prototype.error), message);
  }

  warn(fields: object, message: string): void {
    this.#out.warn(this.#located(fields, CallerLogger.prototype.warn), message);
  }

  info(fields: object, message: string): void {
    this.#out.info(this.#located(fields, CallerLogger.prototype.info), message);
  }

  debug(fields: object, message: string): void {
    this.#out.debug(this.#located(fields, CallerLogger.prototype.debug), message);
  }

  trace(fields: object, message: string): void {
    this.#out.trace(this.#located(fields, CallerLogger.prototype.trace), message);
  }

  child(fields: object): Logger {
    return new CallerLogger(this.#out.child(fields), this.#options, this.#verbosity);
  }

  setVerbosity(verbosity: number): void {
    this.#verbosity.setVerbosity(verbosity);
  }

  #located(fields: object, callee: (fields: object, message: string) => void): object {
    const { isShown, backtraceAt } = this.#options;
    const { location, stack } = callerOf(callee);
    return {
      ...fields,
      ...(isShown ? { caller: location } : {}),
      ...(isAt(location, backtraceAt) ? { stack } : {}),
    };
  }
}
