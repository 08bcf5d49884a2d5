/** The end of a container's log as one text, for a termination message that falls back to it. */
import { parseCriLine } from './cri-line.ts';
import { LogFileError, openRegularFile } from './open-log.ts';
import { newestRotated } from './successor.ts';
import { findTailOffset } from './tail-offset.ts';
import { decodeTail } from './termination-message.ts';

/** Limits of `FallbackToLogsOnError`. */
const FALLBACK_LOG_LINES = 80;
const FALLBACK_LOG_BYTES = 2048;

const NEWLINE = 0x0a;
/** Maximum size in the file per byte of content, for empty lines: header and newline. */
const LARGEST_OVERHEAD = 64;

/** Returns the last output of the container, both streams in order: at most `maxLines` lines and the last
 *  `maxBytes` bytes of them. Empty without a log.
 *  @param root directory that must contain the real file */
export async function lastLogLines(
  path: string,
  maxLines: number = FALLBACK_LOG_LINES,
  maxBytes: number = FALLBACK_LOG_BYTES,
  root?: string,
): Promise<string> {
  const text = await readTail(path, maxLines, maxBytes, root);
  if (text !== '') return text;
  // A container may exit right after a rotation: its last output is in the previous file.
  const rotated = await newestRotated(path);
  return rotated === undefined ? '' : await readTail(rotated, maxLines, maxBytes, root);
}

async function readTail(
  path: string,
  maxLines: number,
  maxBytes: number,
  root: string | undefined,
): Promise<string> {
  let opened: Awaited<ReturnType<typeof openRegularFile>>;
  try {
    opened = await openRegularFile(path, root);
  } catch (thrown) {
    if (thrown instanceof LogFileError) return '';
    throw thrown;
  }
  const { file, sizeBytes } = opened;
  try {
    const from = await findTailOffset(file, sizeBytes, maxLines);
    // One line of the runtime has up to 16 KiB; 80 of them need not be read for 2 KiB of text.
    const length = Math.min(sizeBytes - from, maxBytes * LARGEST_OVERHEAD);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, sizeBytes - length);
    const content = Buffer.concat(splitLines(buffer.subarray(0, bytesRead), length < sizeBytes - from));
    return decodeTail(content.subarray(-maxBytes), content.length > maxBytes);
  } finally {
    await file.close();
  }
}

function splitLines(bytes: Buffer, isCut: boolean): readonly Uint8Array[] {
  const contents: Uint8Array[] = [];
  // A truncated first line is skipped unless it is the only one: then it has no readable header.
  let start = isCut ? bytes.indexOf(NEWLINE) + 1 : 0;
  while (start < bytes.length) {
    const newline = bytes.indexOf(NEWLINE, start);
    const end = newline < 0 ? bytes.length : newline + 1;
    const line = parseCriLine(bytes.subarray(start, end));
    if (line !== undefined) contents.push(line.content);
    start = end;
  }
  return contents;
}
