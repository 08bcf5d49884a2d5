/** Logger with lines in upstream's text format: `I1122 05:36:44.443000 30628 images] "Image removed"
 *  image="busybox"`. Names the component instead of a source file, unless the line has its caller. */
import '../exact-json.ts';
import { describeError } from '../error-chain.ts';
import type { Logger } from '../logger.ts';

export interface TextLoggerOptions {
  /** Ms since the epoch. */
  readonly now: () => number;
  readonly pid: number;
  /** Without severity, time, process and component. */
  readonly skipHeaders: boolean;
}

/** Error, warning, information. */
export type Severity = 'E' | 'W' | 'I';

const pad = (value: number, width = 2): string => String(value).padStart(width, '0');

function header(severity: Severity, atMs: number, pid: number, component: string): string {
  const at = new Date(atMs);
  const day = `${pad(at.getMonth() + 1)}${pad(at.getDate())}`;
  const time = `${pad(at.getHours())}:${pad(at.getMinutes())}:${pad(at.getSeconds())}`;
  return `${severity}${day} ${time}.${pad(at.getMilliseconds(), 3)}000 ${String(pid).padStart(7)} ${component}] `;
}

function formatValue(value: unknown): string {
  if (value instanceof Error) return JSON.stringify(describeError(value));
  const text = JSON.stringify(value, (_key, inner: unknown) =>
    inner instanceof Error ? describeError(inner) : inner,
  );
  // Functions and the like have no JSON.
  return text ?? '""';
}

/** Returns ` key=value …` of the fields, without the component. */
export const formatFields = (fields: object): string =>
  Object.entries(fields)
    .filter(([key, value]) => value !== undefined && key !== 'component' && key !== 'caller')
    .map(([key, value]) => ` ${key}=${formatValue(value)}`)
    .join('');

/** @param fields added to every line
 *  @param write receives whole lines, including their line end */
export function createTextLogger(
  options: TextLoggerOptions,
  fields: object,
  write: (line: string, severity: Severity) => void,
): Logger {
  const component = 'component' in fields ? String(fields.component) : 'agent';
  const own = formatFields(fields);
  const log = (severity: Severity) => (more: object, message: string) => {
    const place = 'caller' in more ? String(more.caller) : component;
    const head = options.skipHeaders ? '' : header(severity, options.now(), options.pid, place);
    write(`${head}${JSON.stringify(message)}${formatFields(more)}${own}\n`, severity);
  };
  const info = log('I');
  return {
    error: log('E'),
    warn: log('W'),
    info,
    debug: info,
    trace: info,
    child: (more) => createTextLogger(options, { ...fields, ...more }, write),
  };
}
