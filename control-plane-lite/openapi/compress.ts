/** Bodies stored compressed: most clients accept them as they are. */

import { promisify } from 'node:util';
import { createGzip, gunzip } from 'node:zlib';
import { createTurns } from './turns.ts';

/** Small pieces are put together before they are compressed. */
const BLOCK_CHARS = 32 * 1024;

/** Texts or bytes put together to blocks. */
function* blocks(pieces: Iterable<string | Uint8Array>): Generator<Uint8Array> {
  let held: Uint8Array[] = [];
  let size = 0;
  for (const piece of pieces) {
    const bytes = typeof piece === 'string' ? Buffer.from(piece) : piece;
    held.push(bytes);
    size += bytes.length;
    if (size < BLOCK_CHARS) {
      yield EMPTY;
      continue;
    }
    yield Buffer.concat(held, size);
    held = [];
    size = 0;
  }
  yield Buffer.concat(held, size);
}

const EMPTY = new Uint8Array(0);

/** Compresses pieces as they are generated, and yields to the event loop. Retains only the result. */
export async function compress(pieces: Iterable<string | Uint8Array>): Promise<Buffer> {
  const gzip = createGzip();
  const compressed: Buffer[] = [];
  gzip.on('data', (chunk: Buffer) => compressed.push(chunk));
  const ended = new Promise<void>((resolve, reject) => {
    gzip.once('end', resolve);
    gzip.once('error', reject);
  });
  const turn = createTurns();
  for (const block of blocks(pieces)) {
    if (block.length > 0 && !gzip.write(block)) await new Promise((resolve) => gzip.once('drain', resolve));
    const pause = turn();
    if (pause !== undefined) await pause;
  }
  gzip.end();
  await ended;
  return Buffer.concat(compressed);
}

export const decompress: (bytes: Buffer) => Promise<Buffer> = promisify(gunzip);
