/** The process's logger: JSON lines on standard error, errors with their whole chain of causes. */
import { pino } from 'pino';
import type { Logger } from './logger.ts';

export interface ProcessLogger extends Logger {
  /** For this logger and all children of it and its relatives: 0 to 3 info, 4 and 5 debug, 6 and up trace. */
  setVerbosity(verbosity: number): void;
}

/** Shared by a family of loggers. */
interface Threshold {
  debug: boolean;
  trace: boolean;
}

class VerbosityLogger implements ProcessLogger {
  readonly #out: Logger;
  readonly #threshold: Threshold;

  constructor(out: Logger, threshold: Threshold) {
    this.#out = out;
    this.#threshold = threshold;
  }

  error(fields: object, message: string): void {
    this.#out.error(fields, message);
  }

  warn(fields: object, message: string): void {
    this.#out.warn(fields, message);
  }

  info(fields: object, message: string): void {
    this.#out.info(fields, message);
  }

  debug(fields: object, message: string): void {
    if (this.#threshold.debug) this.#out.debug(fields, message);
  }

  trace(fields: object, message: string): void {
    if (this.#threshold.trace) this.#out.trace(fields, message);
  }

  child(fields: object): Logger {
    return new VerbosityLogger(this.#out.child(fields), this.#threshold);
  }

  setVerbosity(verbosity: number): void {
    this.#threshold.debug = verbosity >= 4;
    this.#threshold.trace = verbosity >= 6;
  }
}

/** @param verbosity the configured one
 *  @param fields put on every line, such as the node's name
 *  @param output where lines go; standard error unless given */
export function createProcessLogger(
  verbosity: number,
  fields: object,
  output: { readonly write: (line: string) => void } = pino.destination({ dest: 2, sync: true }),
): ProcessLogger {
  const out = pino(
    {
      level: 'trace',
      base: fields,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (level) => ({ level }) },
      serializers: { err: serializeError },
    },
    output,
  );
  const log = new VerbosityLogger(out, { debug: false, trace: false });
  log.setVerbosity(verbosity);
  return log;
}

const LONGEST_CAUSE_CHAIN = 5;

/** Name, message and causes; the stack only of errors that nobody gave a name, which are faults of ours. */
export function serializeError(thrown: unknown, depth = 0): unknown {
  if (!(thrown instanceof Error)) return thrown;
  const { name, message, cause, stack } = thrown;
  const isOurs = name !== 'Error' && name !== 'TypeError' && name !== 'RangeError';
  return {
    name,
    message,
    ...(cause === undefined || depth >= LONGEST_CAUSE_CHAIN
      ? {}
      : { cause: serializeError(cause, depth + 1) }),
    ...(isOurs ? {} : { stack }),
  };
}
