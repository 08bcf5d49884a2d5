/** Finds the start of the last lines of a log by reading it backwards in blocks. */
import type { FileHandle } from 'node:fs/promises';
import { parseCriLine } from './cri-line.ts';

const BLOCK_BYTES = 64 * 1024;
/** Enough of a line to parse its header. */
const HEADER_BYTES = 128;
const NEWLINE = 0x0a;

function isPartialAt(bytes: Buffer, start: number): boolean {
  const end = bytes.indexOf(NEWLINE, start);
  const line = bytes.subarray(start, end < 0 ? start + HEADER_BYTES : end + 1);
  return parseCriLine(line.subarray(0, HEADER_BYTES))?.isPartial ?? false;
}

/** Returns the offset of the last `lines` lines that were written up to `endOffset`.
 *  A line in several entries counts once, and so does an unfinished one at the end. */
export async function findTailOffset(file: FileHandle, endOffset: number, lines: number): Promise<number> {
  let counted = 0;
  let nextStart = endOffset;
  let following: Buffer = Buffer.alloc(0);
  for (let blockEnd = endOffset; blockEnd > 0; blockEnd -= BLOCK_BYTES) {
    const blockStart = Math.max(0, blockEnd - BLOCK_BYTES);
    const block = Buffer.alloc(blockEnd - blockStart);
    await file.read(block, 0, block.length, blockStart);
    const window = Buffer.concat([block, following]);
    for (const start of lineStartsBackwards(block, blockStart === 0)) {
      if (blockStart + start >= endOffset) continue;
      const isEndOfLine = nextStart === endOffset || !isPartialAt(window, start);
      if (isEndOfLine && counted === lines) return nextStart;
      if (isEndOfLine) counted += 1;
      nextStart = blockStart + start;
    }
    following = Buffer.from(window.subarray(0, HEADER_BYTES));
  }
  return lines <= 0 ? endOffset : 0;
}

/** Returns the start indexes of lines in a block, the last first; includes the start of the block only if it
 *  is that of the file. */
function* lineStartsBackwards(block: Buffer, isFirst: boolean): Iterable<number> {
  for (
    let at = block.lastIndexOf(NEWLINE);
    at >= 0;
    at = at === 0 ? -1 : block.lastIndexOf(NEWLINE, at - 1)
  ) {
    yield at + 1;
  }
  if (isFirst) yield 0;
}
