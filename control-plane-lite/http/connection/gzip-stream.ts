/** Streaming gzip, shared by many clients: every chunk is compressed once for all of them. Each compressed
 *  chunk is self-contained (no references into the history of its stream) and ends on a byte boundary at
 *  which readers flush. Source: RFC 1951 (§3.2.4, stored blocks), RFC 1952. */
import { constants, crc32, deflateRawSync } from 'node:zlib';
import { joinChecksums, shiftOf } from './crc32.ts';

export interface GzipStream {
  /** The header of the stream; the same buffer for all. */
  readonly head: Buffer;
  /** Returns the same compressed bytes for all streams that write the same buffer.
   *  @param readers number of streams that write it */
  readonly write: (bytes: Buffer, readers: number) => Buffer;
  /** The trailer of the stream. */
  readonly end: () => Buffer;
}

/** Header without a name and a time. */
const HEAD = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff]);

/** With fewer readers compression takes longer than encrypting the bytes that it saves. */
const ENOUGH_READERS = 8;
/** Minimum number of bytes, summed over all readers, from which compression pays. */
const ENOUGH_BYTES = 128 * 1024;
/** Compressing more would block the event loop for too long. */
const MOST_BYTES = 1024 * 1024;

const STORED_BYTES = 0xffff;
const STORED_HEAD_BYTES = 5;
/** An empty block, at which readers flush their output. */
const FLUSH = Buffer.from([0, 0, 0, 0xff, 0xff]);
/** The same as the final block of a stream. */
const LAST = Buffer.from([1, 0, 0, 0xff, 0xff]);
const TRAILER_BYTES = 8;

/** The compressed form of a buffer in any stream. */
interface Piece {
  readonly blocks: Buffer;
  readonly checksum: number;
  /** The shift of its length. */
  readonly shift: number;
}

const isWorthIt = (bytes: number, readers: number): boolean =>
  readers >= ENOUGH_READERS && bytes * readers >= ENOUGH_BYTES && bytes <= MOST_BYTES;

const compressed = (bytes: Buffer): Buffer =>
  deflateRawSync(bytes, { level: 1, finishFlush: constants.Z_SYNC_FLUSH });

/** Returns the bytes uncompressed, in stored blocks. */
function stored(bytes: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += STORED_BYTES) {
    const part = bytes.subarray(at, at + STORED_BYTES);
    const head = Buffer.alloc(STORED_HEAD_BYTES);
    head.writeUInt16LE(part.length, 1);
    head.writeUInt16LE(~part.length & STORED_BYTES, 3);
    parts.push(head, part);
  }
  return Buffer.concat([...parts, FLUSH]);
}

function pieceOf(bytes: Buffer, readers: number): Piece {
  return {
    blocks: isWorthIt(bytes.length, readers) ? compressed(bytes) : stored(bytes),
    checksum: crc32(bytes),
    shift: shiftOf(bytes.length),
  };
}

/** Creates a factory of streams that share their compressed chunks. */
export function createGzip(): () => GzipStream {
  const pieces = new WeakMap<Buffer, Piece>();

  function piece(bytes: Buffer, readers: number): Piece {
    if (readers === 1) return pieceOf(bytes, readers);
    const known = pieces.get(bytes);
    if (known !== undefined) return known;
    const made = pieceOf(bytes, readers);
    pieces.set(bytes, made);
    return made;
  }

  return () => {
    let checksum = 0;
    let size = 0;
    return {
      head: HEAD,
      write(bytes, readers) {
        const { blocks, checksum: next, shift } = piece(bytes, readers);
        checksum = joinChecksums(checksum, next, shift);
        size += bytes.length;
        return blocks;
      },
      end() {
        const trailer = Buffer.alloc(TRAILER_BYTES);
        trailer.writeUInt32LE(checksum, 0);
        trailer.writeUInt32LE(size % 2 ** 32, 4);
        return Buffer.concat([LAST, trailer]);
      },
    };
  };
}
