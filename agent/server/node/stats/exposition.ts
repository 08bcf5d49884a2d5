/** Formats samples collected elsewhere in the text exposition format, with their timestamps. Pure.
 *  @see https://prometheus.io/docs/instrumenting/exposition_formats/ */
import type { Int64 } from '#api/kit/int64.ts';

export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  /** Undefined values are omitted. */
  readonly value: Int64 | undefined;
  /** In ms since the epoch. Absent: no timestamp. */
  readonly atMs?: number | undefined;
}

export interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge';
  readonly samples: readonly Sample[];
}

const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '"': '\\"', '\n': '\\n' };
const escapeValue = (text: string): string => text.replaceAll(/[\\"\n]/g, (found) => ESCAPES[found] ?? found);

function formatSample(name: string, { labels, value, atMs }: Sample): string {
  const pairs = Object.entries(labels).map(([key, text]) => `${key}="${escapeValue(text)}"`);
  const at = atMs === undefined ? '' : ` ${Math.round(atMs)}`;
  return `${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${value}${at}\n`;
}

function formatFamily({ name, help, type, samples }: Family): string {
  const given = samples.filter(({ value }) => value !== undefined);
  if (given.length === 0) return '';
  const lines = given.map((sample) => formatSample(name, sample)).join('');
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines}`;
}

/** Omits families without samples. */
export const formatFamilies = (families: readonly Family[]): string => families.map(formatFamily).join('');
