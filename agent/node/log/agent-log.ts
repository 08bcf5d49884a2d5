/** Log of the agent according to its settings: format, verbosity, and destination. */
import { renameSync } from 'node:fs';
import { hostname, userInfo } from 'node:os';
import { type DestinationStream, pino } from 'pino';
import { createProcessLogger, type LineOutput, type ProcessLogger } from '#api/kit/logging/process-logger.ts';
import type { SendEntry } from '#api/kit/systemd/journal.ts';
import { value as quantityValue } from '#api/meta/quantity.ts';
import type { AgentConfig } from '../../config/gen/config.ts';
import { AGENT_VERSION } from '../../version.ts';
import { openLogFile } from './log-file.ts';
import { parseSeverity, severityOf } from './severity.ts';
import { openSeverityFiles } from './severity-files.ts';

export type LogSettings = Pick<
  AgentConfig,
  | 'logging'
  | 'logtostderr'
  | 'alsologtostderr'
  | 'stderrthreshold'
  | 'logDir'
  | 'logFile'
  | 'logFileMaxSize'
  | 'oneOutput'
  | 'skipHeaders'
  | 'skipLogHeaders'
  | 'addDirHeader'
  | 'logBacktraceAt'
>;

const STANDARD_OUTPUT = 1;
const STANDARD_ERROR = 2;
/** Maximum size of one write; a buffer is smaller. */
const WRITE_BYTES = 16_384;
const MEGABYTE = 1024 * 1024;
const PROGRAM = 'nodeagent';

const standard = (dest: number): DestinationStream => pino.destination({ dest, sync: true });

/** Returns the first lines of a log file in text format. */
function fileHeader({ logging, skipHeaders, skipLogHeaders }: LogSettings): string {
  // Every line of a JSON file is JSON.
  if (skipLogHeaders || skipHeaders || logging.format === 'json') return '';
  return [
    `Log file created at: ${new Date().toISOString()}`,
    `Running on machine: ${hostname()}`,
    `Binary: ${PROGRAM} v${AGENT_VERSION}, Node ${process.version} for ${process.platform}/${process.arch}`,
    'Log line format: [IWE]mmdd hh:mm:ss.uuuuuu process component] "message" field="value"',
    '',
  ].join('\n');
}

/** Returns the file or files of the settings; undefined for none.
 *  @throws Error of the system when a file cannot be opened */
function fileOutput(settings: LogSettings): LineOutput | undefined {
  const { logging, logDir, logFile, logFileMaxSize, oneOutput } = settings;
  const common = {
    maxBytes: Number(logFileMaxSize) * MEGABYTE,
    flushMs: logging.flushFrequency,
    header: () => fileHeader(settings),
  };
  if (logFile !== '') {
    const next = (): string => {
      renameSync(logFile, `${logFile}.1`);
      return logFile;
    };
    return openLogFile(logFile, { ...common, next });
  }
  if (logDir === '') return undefined;
  const owner = { program: PROGRAM, host: hostname(), user: userInfo().username, pid: process.pid };
  return openSeverityFiles({ ...common, dir: logDir, process: owner, now: Date.now, oneOutput });
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

/** @throws Error of the system when a file cannot be opened */
function createLogOutput(settings: LogSettings): LineOutput {
  const { logging, logtostderr, alsologtostderr, stderrthreshold } = settings;
  const files = logtostderr ? undefined : fileOutput(settings);
  if (files === undefined) {
    const split = logging.format === 'json' && logging.options.json.splitStream;
    return split ? splitOutput(settings) : standard(STANDARD_ERROR);
  }
  const errors = standard(STANDARD_ERROR);
  const threshold = alsologtostderr ? 0 : parseSeverity(stderrthreshold);
  return {
    write(line, severity) {
      files.write(line, severity);
      if (severityOf(line, severity) >= threshold) errors.write(line);
    },
  };
}

/** @param send to the systemd journal, which is used for text on standard error
 *  @throws Error of the system when a file cannot be opened */
export function createAgentLog(settings: LogSettings, fields: object, send?: SendEntry): ProcessLogger {
  const { logging, skipHeaders, addDirHeader, logBacktraceAt, logtostderr } = settings;
  const usesJournal = send !== undefined && logging.format === 'text' && logtostderr;
  return createProcessLogger(logging.verbosity, fields, createLogOutput(settings), {
    format: logging.format,
    modules: logging.vmodule.map(({ filePattern, verbosity }) => ({ pattern: filePattern, verbosity })),
    skipHeaders,
    journal: usesJournal ? { identifier: PROGRAM, send } : undefined,
    callers: { isShown: addDirHeader, backtraceAt: logBacktraceAt === ':0' ? '' : logBacktraceAt },
  });
}
