/** Logger that writes entries of the systemd journal: the message with its fields as text, a priority, and
 *  each field by name, so that `journalctl -p warning POD=default/web` finds the warnings about a pod. */
import { describeError } from '../error-chain.ts';
import type { Logger } from '../logger.ts';
import { fieldName, fieldValue, type SendEntry } from '../systemd/journal.ts';
import { formatFields } from './text-logger.ts';

export interface JournalOptions {
  /** Name of the program: SYSLOG_IDENTIFIER. */
  readonly identifier: string;
  readonly send: SendEntry;
  /** Receives entries that could not be sent, as lines with a priority prefix, which the journal
   *  interprets on a connected standard error. */
  readonly fallback: (line: string) => void;
}

/** @see syslog(3) */
const PRIORITY = { error: 3, warning: 4, info: 6, debug: 7 } as const;

/** A slot of a pod has the UID behind the name: `default/web#4f…`. */
const podName = (text: string): string => text.split('#', 1)[0] ?? text;

function valueOf(key: string, value: unknown): string | undefined {
  if (value instanceof Error) return fieldValue(describeError(value));
  if (typeof value === 'string') return fieldValue(key === 'pod' ? podName(value) : value);
  return typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint'
    ? String(value)
    : undefined;
}

function* journalFields(fields: object): Generator<readonly [string, string]> {
  for (const [key, value] of Object.entries(fields)) {
    const name = fieldName(key === 'err' ? 'error' : key);
    const text = valueOf(key, value);
    if (name !== undefined && text !== undefined) yield [name, text];
  }
}

/** @param fields added to every entry */
export function createJournalLogger(options: JournalOptions, fields: object): Logger {
  const { identifier, send, fallback } = options;
  const log = (priority: number) => (more: object, message: string) => {
    const text = `${message}${formatFields(more)}${formatFields(fields)}`;
    const entry = new Map([
      ...journalFields(fields),
      ...journalFields(more),
      ['MESSAGE', text],
      ['PRIORITY', String(priority)],
      ['SYSLOG_IDENTIFIER', identifier],
    ]);
    try {
      send(entry);
    } catch {
      fallback(`<${priority}>${text.replaceAll('\n', ' ')}\n`);
    }
  };
  const debug = log(PRIORITY.debug);
  return {
    error: log(PRIORITY.error),
    warn: log(PRIORITY.warning),
    info: log(PRIORITY.info),
    debug,
    trace: debug,
    child: (more) => createJournalLogger(options, { ...fields, ...more }),
  };
}
