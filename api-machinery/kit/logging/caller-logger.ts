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

type Level = 'error' | 'warn' | 'info' | 'debug' | 'trace';
type Log = (fields: object, message: string) => void;

/** Adds the location of the call to the fields, and a stack trace where it is requested.
 *  @param out decides which lines are written */
export function createCallerLogger(
  out: Logger,
  options: CallerOptions,
  verbosity: Pick<ProcessLogger, 'setVerbosity'>,
): ProcessLogger {
  const { isShown, backtraceAt } = options;

  function located(fields: object, callee: Log): object {
    const { location, stack } = callerOf(callee);
    return {
      ...fields,
      ...(isShown ? { caller: location } : {}),
      ...(isAt(location, backtraceAt) ? { stack } : {}),
    };
  }

  function logAt(level: Level): Log {
    const log: Log = (fields, message) => out[level](located(fields, log), message);
    return log;
  }

  return {
    error: logAt('error'),
    warn: logAt('warn'),
    info: logAt('info'),
    debug: logAt('debug'),
    trace: logAt('trace'),
    child: (fields) => createCallerLogger(out.child(fields), options, verbosity),
    setVerbosity: (value) => verbosity.setVerbosity(value),
  };
}
