/** The process's logger: JSON lines on standard error, errors with their whole chain of causes. */
import { pino } from 'pino';
import type { Logger } from './logger.ts';

/** @param verbosity the configured one: 0 to 3 info, 4 and 5 debug, 6 and up trace
 *  @param fields put on every line, such as the node's name */
export function createProcessLogger(verbosity: number, fields: object): Logger {
  return pino(
    {
      level: levelOf(verbosity),
      base: fields,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (level) => ({ level }) },
      serializers: { err: serializeError },
    },
    pino.destination({ dest: 2, sync: true }),
  );
}

function levelOf(verbosity: number): 'info' | 'debug' | 'trace' {
  if (verbosity < 4) return 'info';
  return verbosity < 6 ? 'debug' : 'trace';
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
