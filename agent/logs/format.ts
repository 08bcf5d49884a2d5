/** Extracts container output from the bytes of a CRI log file: splits lines, filters by time, adds
 *  timestamps, applies a limit. Pure except for the state between two blocks. */
import { type CriLine, formatLogTime, type LogStream, parseCriLine, parseLogTime } from './cri-line.ts';

export interface LogChunk {
  readonly stream: LogStream;
  readonly chunk: Uint8Array;
}

export interface FormatOptions {
  /** Skip lines older than this, in ms since the epoch. */
  readonly sinceMs?: number | undefined;
  /** Prefix each line with its time. */
  readonly timestamps?: boolean | undefined;
  /** Maximum number of bytes in total. */
  readonly limitBytes?: number | undefined;
}

export interface LogFormatter {
  /** Formats the next bytes of a file; adjacent lines of one stream become one chunk. */
  feed(bytes: Uint8Array): readonly LogChunk[];
  /** Formats a last line without a newline at the end of the file. */
  end(): readonly LogChunk[];
  /** Whether the limit has been reached. */
  isFull(): boolean;
}

const NEWLINE = 0x0a;
/** Runtimes split lines at 16 KiB. A longer line is invalid and dropped. */
const LONGEST_LINE = 1024 * 1024;

/** Joins adjacent chunks of one stream. */
function coalesce(pieces: readonly LogChunk[]): readonly LogChunk[] {
  const runs: { readonly stream: LogStream; readonly parts: Uint8Array[] }[] = [];
  for (const { stream, chunk } of pieces) {
    const last = runs.at(-1);
    if (last?.stream === stream) last.parts.push(chunk);
    else runs.push({ stream, parts: [chunk] });
  }
  return runs.map(({ stream, parts }) => ({ stream, chunk: Buffer.concat(parts) }));
}

/** Formats single lines: filter, timestamp, limit. */
function createLineWriter(options: FormatOptions): {
  readonly write: (line: CriLine, out: LogChunk[]) => void;
  readonly isFull: () => boolean;
} {
  const { sinceMs, timestamps = false } = options;
  let leftBytes = options.limitBytes ?? Number.POSITIVE_INFINITY;
  const isInsideLine: Record<LogStream, boolean> = { stdout: false, stderr: false };

  function push(out: LogChunk[], stream: LogStream, bytes: Uint8Array): void {
    const chunk = bytes.byteLength > leftBytes ? bytes.subarray(0, leftBytes) : bytes;
    leftBytes -= chunk.byteLength;
    if (chunk.byteLength > 0) out.push({ stream, chunk });
  }

  return {
    write(line, out) {
      if (sinceMs !== undefined && parseLogTime(line.time) < sinceMs) return;
      if (timestamps && !isInsideLine[line.stream]) {
        push(out, line.stream, Buffer.from(`${formatLogTime(line.time)} `));
      }
      isInsideLine[line.stream] = line.isPartial;
      push(out, line.stream, line.content);
    },
    isFull: () => leftBytes <= 0,
  };
}

export function createLogFormatter(options: FormatOptions): LogFormatter {
  const writer = createLineWriter(options);
  let rest: Uint8Array = new Uint8Array(0);
  let isSkipping = false;

  function takeLine(bytes: Uint8Array, out: LogChunk[]): void {
    const line = isSkipping ? undefined : parseCriLine(bytes);
    isSkipping = false;
    if (line !== undefined) writer.write(line, out);
  }

  return {
    feed(bytes) {
      const data = rest.byteLength === 0 ? bytes : Buffer.concat([rest, bytes]);
      const out: LogChunk[] = [];
      let start = 0;
      let newline = data.indexOf(NEWLINE);
      while (newline >= 0 && !writer.isFull()) {
        takeLine(data.subarray(start, newline + 1), out);
        start = newline + 1;
        newline = data.indexOf(NEWLINE, start);
      }
      rest = Uint8Array.from(data.subarray(start)); // a copy: the caller reuses its block
      if (rest.byteLength > LONGEST_LINE) {
        rest = new Uint8Array(0);
        isSkipping = true;
      }
      return coalesce(out);
    },
    end() {
      const out: LogChunk[] = [];
      if (rest.byteLength > 0 && !writer.isFull()) takeLine(rest, out);
      rest = new Uint8Array(0);
      isSkipping = false;
      return out;
    },
    isFull: () => writer.isFull(),
  };
}
