/** A log file that is rotated at its maximum size. Errors are written at once, other lines are buffered. */
import { statSync } from 'node:fs';
import { pino } from 'pino';
import type { LineOutput } from '#api/kit/logging/process-logger.ts';
import { severityOf } from './severity.ts';

export interface LogFileOptions {
  /** Rotation size; 0 for no limit. */
  readonly maxBytes: number;
  readonly flushMs: number;
  /** First lines of each file, including their line end; empty for none. */
  readonly header: () => string;
  /** Sets a full file aside and returns the path of the next one. */
  readonly next: () => string;
}

/** A buffer is flushed at this many bytes, or after the flush frequency. */
const BUFFER_BYTES = 8192;
/** Readable for root only. */
const FILE_MODE = 0o640;

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

/** @throws Error of the system when the file cannot be opened */
export function openLogFile(path: string, { maxBytes, flushMs, header, next }: LogFileOptions): LineOutput {
  const file = pino.destination({
    dest: path,
    append: true,
    sync: true,
    mode: FILE_MODE,
    minLength: BUFFER_BYTES,
    periodicFlush: flushMs,
  });
  let bytes = sizeOf(path);
  process.once('exit', () => file.flushSync());

  function put(text: string): void {
    if (text === '') return;
    file.write(text);
    bytes += Buffer.byteLength(text);
  }

  put(header());
  return {
    write(line, severity) {
      put(line);
      if (severityOf(line, severity) >= 2) file.flushSync();
      if (maxBytes === 0 || bytes < maxBytes) return;
      file.flushSync();
      const nextPath = next();
      file.reopen(nextPath);
      bytes = sizeOf(nextPath);
      put(header());
    },
  };
}
