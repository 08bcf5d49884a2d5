/** The CRI log format: `<RFC 3339 time> <stdout|stderr> <tags> <content>\n`. Pure.
 *  The first tag is `P` for a partial line and `F` for its end. Source: log format document of the CRI. */

export type LogStream = 'stdout' | 'stderr';

export interface CriLine {
  /** The time as written. */
  readonly time: string;
  readonly stream: LogStream;
  /** The line continues in the next entry. */
  readonly isPartial: boolean;
  /** Output of the container; ends with a newline unless partial. A view into the given bytes. */
  readonly content: Uint8Array;
}

const SPACE = 0x20;
const NEWLINE = 0x0a;
/** A header has about 45 bytes; a longer prefix without the expected spaces is not a header. */
const LONGEST_HEADER = 128;
const TIME = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9})\d*)?(Z|[+-]\d\d:\d\d)$/;

interface Header {
  readonly time: string;
  readonly stream: LogStream;
  readonly isPartial: boolean;
  readonly length: number;
}

function parseHeader(bytes: Uint8Array): Header | undefined {
  const timeEnd = bytes.indexOf(SPACE);
  const streamEnd = bytes.indexOf(SPACE, timeEnd + 1);
  if (timeEnd <= 0 || streamEnd < 0 || streamEnd > LONGEST_HEADER) return undefined;
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, LONGEST_HEADER));
  const time = head.toString('latin1', 0, timeEnd);
  const stream = head.toString('latin1', timeEnd + 1, streamEnd);
  if (stream !== 'stdout' && stream !== 'stderr') return undefined;
  if (!TIME.test(time)) return undefined;
  const tagsEnd = bytes.indexOf(SPACE, streamEnd + 1);
  // A runtime may omit the space before empty content.
  const length = tagsEnd < 0 ? bytes.byteLength : tagsEnd + 1;
  const tags = head.toString('latin1', streamEnd + 1, length).trimEnd();
  const [kind] = tags.split(':');
  if (kind !== 'P' && kind !== 'F') return undefined;
  return { time, stream, isPartial: kind === 'P', length };
}

/** Parses one line with its newline; undefined for another format. */
export function parseCriLine(line: Uint8Array): CriLine | undefined {
  const hasNewline = line.at(-1) === NEWLINE;
  const header = parseHeader(hasNewline ? line.subarray(0, -1) : line);
  if (header === undefined) return undefined;
  const { time, stream, isPartial, length } = header;
  const end = hasNewline && isPartial ? -1 : undefined;
  return { time, stream, isPartial, content: line.subarray(length, end) };
}

/** Returns the time of a line in ms since the epoch, with microsecond precision; NaN if it is invalid. */
export function parseLogTime(time: string): number {
  const match = TIME.exec(time);
  if (match === null) return Number.NaN;
  const [, seconds = '', fraction = '', zone = ''] = match;
  return Date.parse(seconds + zone) + Number(fraction.padEnd(9, '0')) / 1e6;
}

/** Returns the time with all nine decimals, so that printed columns are aligned. */
export function formatLogTime(time: string): string {
  return time.replace(TIME, (_, seconds: string, fraction: string | undefined, zone: string) => {
    return `${seconds}.${(fraction ?? '').padEnd(9, '0')}${zone}`;
  });
}
