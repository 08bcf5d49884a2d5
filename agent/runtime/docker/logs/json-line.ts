/** Converts a line of docker's log files into a line of a CRI log. Pure. */
import { isObject } from '#api/kit/object.ts';

export interface OutputLine {
  /** As docker wrote it, in nanoseconds. */
  readonly time: string;
  readonly text: string;
}

/** Undefined for a line that docker did not finish. */
export function convertLine(line: string): OutputLine | undefined {
  let entry: unknown;
  try {
    entry = JSON.parse(line);
  } catch {
    return undefined;
  }
  if (!isObject(entry)) return undefined;
  const { log, stream, time } = entry;
  if (typeof log !== 'string' || typeof time !== 'string') return undefined;
  if (stream !== 'stdout' && stream !== 'stderr') return undefined;
  const isWhole = log.endsWith('\n');
  return { time, text: `${time} ${stream} ${isWhole ? 'F' : 'P'} ${isWhole ? log : `${log}\n`}` };
}
