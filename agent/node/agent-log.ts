/** Log of the agent according to its settings: format, verbosity, and destination. */
import { mkdirSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type DestinationStream, pino } from 'pino';
import { createProcessLogger, type LineOutput, type ProcessLogger } from '#api/kit/logging/process-logger.ts';
import type { Severity } from '#api/kit/logging/text-logger.ts';
import type { SendEntry } from '#api/kit/systemd/journal.ts';
import { value as quantityValue } from '#api/meta/quantity.ts';
import type { AgentConfig } from '../config/gen/config.ts';

export type LogSettings = Pick<
  AgentConfig,
  | 'logging'
  | 'logtostderr'
  | 'alsologtostderr'
  | 'stderrthreshold'
  | 'logDir'
  | 'logFile'
  | 'logFileMaxSize'
  | 'skipHeaders'
>;

const STANDARD_OUTPUT = 1;
const STANDARD_ERROR = 2;
/** Log files are flushed at this many buffered bytes, or after the flush frequency. */
const FILE_BUFFER_BYTES = 8192;
/** Maximum size of one write; a buffer is smaller. */
const WRITE_BYTES = 16_384;
const MEGABYTE = 1024 * 1024;
/** Readable for root only. */
const FILE_MODE = 0o640;
const FILE_NAME = 'nodeagent.log';

const SEVERITIES = ['INFO', 'WARNING', 'ERROR', 'FATAL'];

const RANKS: Readonly<Record<string, number>> = { I: 0, W: 1, E: 2 };

/** Returns the severity, 0 to 2.
 *  @param severity of a text line; that of a JSON line is parsed */
export function severityOf(line: string, severity?: Severity): number {
  return RANKS[severity ?? /^\{"level":"(\w)/.exec(line)?.[1]?.toUpperCase() ?? ''] ?? 0;
}

const thresholdOf = (text: string): number => {
  const named = SEVERITIES.indexOf(text.toUpperCase());
  return named < 0 ? Number(text) : named;
};

const standard = (dest: number): DestinationStream => pino.destination({ dest, sync: true });

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

/** A log file that is rotated at its maximum size; the previous file is retained. */
function fileOutput(path: string, maxBytes: number, flushMs: number): LineOutput {
  const file = pino.destination({
    dest: path,
    append: true,
    sync: true,
    mode: FILE_MODE,
    minLength: FILE_BUFFER_BYTES,
    periodicFlush: flushMs,
  });
  let bytes = sizeOf(path);
  process.once('exit', () => file.flushSync());
  return {
    write(line, severity) {
      file.write(line);
      bytes += Buffer.byteLength(line);
      // Errors are written immediately.
      if (severityOf(line, severity) >= 2) file.flushSync();
      if (maxBytes === 0 || bytes < maxBytes) return;
      file.flushSync();
      renameSync(path, `${path}.1`);
      file.reopen();
      bytes = 0;
    },
  };
}

function filePath({ logDir, logFile }: LogSettings): string | undefined {
  if (logFile !== '') return logFile;
  if (logDir === '') return undefined;
  mkdirSync(logDir, { recursive: true });
  return join(logDir, FILE_NAME);
}

/** Errors go to standard error, everything else to standard output, where it may be buffered. */
function splitOutput({ logging: { options, flushFrequency } }: LogSettings): LineOutput {
  const errors = standard(STANDARD_ERROR);
  const minLength = quantityValue(options.json.infoBufferSize);
  const others = pino.destination({
    dest: STANDARD_OUTPUT,
    sync: true,
    minLength,
    maxWrite: Math.max(WRITE_BYTES, minLength + 1),
    periodicFlush: flushFrequency,
  });
  process.once('exit', () => others.flushSync());
  return {
    write(line, severity) {
      (severityOf(line, severity) >= 2 ? errors : others).write(line);
    },
  };
}

/** @throws Error of the system when the file cannot be opened */
function createLogOutput(settings: LogSettings): LineOutput {
  const { logging, logtostderr, alsologtostderr, stderrthreshold, logFileMaxSize } = settings;
  const path = logtostderr ? undefined : filePath(settings);
  if (path === undefined) {
    const split = logging.format === 'json' && logging.options.json.splitStream;
    return split ? splitOutput(settings) : standard(STANDARD_ERROR);
  }
  const file = fileOutput(path, Number(logFileMaxSize) * MEGABYTE, logging.flushFrequency);
  const errors = standard(STANDARD_ERROR);
  const threshold = alsologtostderr ? 0 : thresholdOf(stderrthreshold);
  return {
    write(line, severity) {
      file.write(line, severity);
      if (severityOf(line, severity) >= threshold) errors.write(line);
    },
  };
}

/** @param send to the systemd journal, which is used for text on standard error
 *  @throws Error of the system when the file cannot be opened */
export function createAgentLog(settings: LogSettings, fields: object, send?: SendEntry): ProcessLogger {
  const { logging, skipHeaders, logtostderr } = settings;
  const usesJournal = send !== undefined && logging.format === 'text' && logtostderr;
  return createProcessLogger(logging.verbosity, fields, createLogOutput(settings), {
    format: logging.format,
    modules: logging.vmodule.map(({ filePattern, verbosity }) => ({ pattern: filePattern, verbosity })),
    skipHeaders,
    journal: usesJournal ? { identifier: 'nodeagent', send } : undefined,
  });
}
