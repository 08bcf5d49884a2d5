/** The process's logger: JSON lines on standard error, or text in upstream's format, with the chain of
 *  causes of errors. */
import { pino } from 'pino';
import { errorChain, messageOf } from '../error-chain.ts';
import type { Logger } from '../logger.ts';
import { type GlobPart, matchesGlob } from '../text/glob.ts';
import { type CallerOptions, createCallerLogger } from './caller-logger.ts';
import type { ProcessLogger } from './contract.ts';
import { createJournalLogger, type JournalOptions } from './journal-logger.ts';
import { createTextLogger, type Severity } from './text-logger.ts';

export type { ProcessLogger } from './contract.ts';

/** Shared by a logger and all its children. */
interface Threshold {
  debug: boolean;
  trace: boolean;
}

/** Verbosity of components whose names match, overriding the global one. */
export interface ModuleVerbosity {
  /** `*` matches any characters, `?` one. */
  readonly pattern: string;
  readonly verbosity: number;
}

const thresholdOf = (verbosity: number): Threshold => ({ debug: verbosity >= 4, trace: verbosity >= 6 });

function matches(pattern: string, name: string): boolean {
  const parts = Array.from(pattern, (wanted): GlobPart => {
    if (wanted === '*') return 'any';
    return wanted === '?' ? () => true : (character) => character === wanted;
  });
  return matchesGlob(parts, name);
}

class VerbosityLogger implements ProcessLogger {
  readonly #out: Logger;
  readonly #threshold: Threshold;
  readonly #modules: readonly ModuleVerbosity[];

  constructor(out: Logger, threshold: Threshold, modules: readonly ModuleVerbosity[]) {
    this.#out = out;
    this.#threshold = threshold;
    this.#modules = modules;
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
    const component = 'component' in fields ? String(fields.component) : undefined;
    const own =
      component === undefined ? undefined : this.#modules.find(({ pattern }) => matches(pattern, component));
    const threshold = own === undefined ? this.#threshold : thresholdOf(own.verbosity);
    return new VerbosityLogger(this.#out.child(fields), threshold, this.#modules);
  }

  setVerbosity(verbosity: number): void {
    Object.assign(this.#threshold, thresholdOf(verbosity));
  }
}

export interface ProcessLogOptions {
  /** `json` by default. */
  readonly format?: 'json' | 'text';
  /** Components with another verbosity. */
  readonly modules?: readonly ModuleVerbosity[];
  /** Omits time and process from text lines. */
  readonly skipHeaders?: boolean;
  /** None by default. */
  readonly callers?: CallerOptions;
  /** The systemd journal, if standard error is connected to it: replaces format and output, which then
   *  receives only entries that the journal does not accept. */
  readonly journal?: Pick<JournalOptions, 'identifier' | 'send'> | undefined;
}

/** Receives whole lines, including their line end. */
export interface LineOutput {
  /** @param severity of a line of text; JSON lines contain it */
  readonly write: (line: string, severity?: Severity) => void;
}

function jsonLogger(fields: object, output: LineOutput): Logger {
  return pino(
    {
      level: 'trace',
      base: fields,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (level) => ({ level }) },
      serializers: { err: serializeError },
    },
    output,
  );
}

/** @param verbosity the configured one
 *  @param fields added to every line, such as the node's name
 *  @param output receives the lines; standard error by default */
export function createProcessLogger(
  verbosity: number,
  fields: object,
  output: LineOutput = pino.destination({ dest: 2, sync: true }),
  { format = 'json', modules = [], skipHeaders = false, journal, callers }: ProcessLogOptions = {},
): ProcessLogger {
  const write = output.write.bind(output);
  const out =
    journal !== undefined
      ? createJournalLogger({ ...journal, fallback: write }, fields)
      : format === 'json'
        ? jsonLogger(fields, output)
        : createTextLogger({ now: Date.now, pid: process.pid, skipHeaders }, fields, write);
  const log = new VerbosityLogger(out, thresholdOf(verbosity), modules);
  const isLocated = callers !== undefined && (callers.isShown || callers.backtraceAt !== '');
  return isLocated ? createCallerLogger(log, callers, log) : log;
}

/** Returns name, message and causes without repetitions; the stack only of unnamed errors, which are bugs. */
function serializeError(thrown: unknown): unknown {
  if (!(thrown instanceof Error)) return thrown;
  return errorChain(thrown).reduceRight<unknown>((cause, error) => {
    const { name, stack } = error;
    const isOurs = name !== 'Error' && name !== 'TypeError' && name !== 'RangeError';
    return {
      name,
      message: messageOf(error),
      ...(cause === undefined ? {} : { cause }),
      ...(isOurs ? {} : { stack }),
    };
  }, undefined);
}
