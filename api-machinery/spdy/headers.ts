/** SPDY/3 header blocks: name/value pairs, compressed in one zlib stream per direction of a connection.
 *
 *  Both directions are synchronous. The writer ends each block at a byte boundary and refers to nothing
 *  before it, which any inflater reads as a continuation. The reader inflates each block with the last 32
 *  KiB of preceding output as its dictionary, which is exactly the window of the peer's deflater. */
import { constants, deflateRawSync, inflateRawSync } from 'node:zlib';
import { createDictionary, DICTIONARY_ID } from './dictionary.ts';
import { SpdyProtocolError } from './errors.ts';

/** Header values by name in lowercase; several values of one name in order. */
export type SpdyHeaders = Readonly<Record<string, readonly string[]>>;

export interface HeaderCompressor {
  compress(headers: SpdyHeaders): Buffer;
}

export interface HeaderDecompressor {
  /** Blocks must be given in the order of arrival.
   *  @throws {SpdyProtocolError} when the block is malformed or too large. */
  decompress(block: Uint8Array): SpdyHeaders;
}

const WINDOW_BYTES = 32 * 1024;
const MAX_BLOCK_BYTES = 64 * 1024;
const MAX_HEADERS = 256;
/** zlib header of a deflate stream with a 32 KiB window and a preset dictionary. */
const ZLIB_HEADER = 0x78bb;
const ZLIB_HEADER_BYTES = 2;
const DICTIONARY_ID_BYTES = 4;
const FLAG_DICTIONARY = 0x20;

function encodeText(text: string): Buffer {
  const bytes = Buffer.from(text, 'utf8');
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

/** Encodes the uncompressed form: a count, then each name and its values joined by NUL, all with 32-bit
 *  lengths. */
function encodeHeaderBlock(headers: SpdyHeaders): Buffer {
  const entries = Object.entries(headers);
  const count = Buffer.alloc(4);
  count.writeUInt32BE(entries.length);
  const pairs = entries.flatMap(([name, values]) => [
    encodeText(name.toLowerCase()),
    encodeText(values.join('\0')),
  ]);
  return Buffer.concat([count, ...pairs]);
}

/** Decodes the uncompressed form.
 *  @throws {SpdyProtocolError} when lengths or counts are inconsistent. */
export function decodeHeaderBlock(bytes: Buffer): SpdyHeaders {
  let at = 0;
  const readUint32 = (): number => {
    if (at + 4 > bytes.length) throw new SpdyProtocolError('header block ended early');
    at += 4;
    return bytes.readUInt32BE(at - 4);
  };
  const readText = (): string => {
    const length = readUint32();
    if (length > bytes.length - at) throw new SpdyProtocolError('header block ended early');
    at += length;
    return bytes.toString('utf8', at - length, at);
  };
  const count = readUint32();
  if (count > MAX_HEADERS) throw new SpdyProtocolError(`header block names ${count} headers`);
  const entries = Array.from({ length: count }, (): readonly [string, readonly string[]] => {
    const name = readText();
    return [name, readText().split('\0')];
  });
  return Object.fromEntries(entries);
}

export function createHeaderCompressor(): HeaderCompressor {
  let isFirst = true;
  return {
    compress(headers) {
      const body = deflateRawSync(encodeHeaderBlock(headers), { finishFlush: constants.Z_SYNC_FLUSH });
      if (!isFirst) return body;
      isFirst = false;
      const start = Buffer.alloc(ZLIB_HEADER_BYTES + DICTIONARY_ID_BYTES);
      start.writeUInt16BE(ZLIB_HEADER);
      start.writeUInt32BE(DICTIONARY_ID, ZLIB_HEADER_BYTES);
      return Buffer.concat([start, body]);
    },
  };
}

/** Returns the length of the zlib header at the start of the first block. */
function zlibHeaderLength(block: Buffer): number {
  const hasDictionary = ((block[1] ?? 0) & FLAG_DICTIONARY) !== 0;
  const length = ZLIB_HEADER_BYTES + (hasDictionary ? DICTIONARY_ID_BYTES : 0);
  if (block.length < length || ((block[0] ?? 0) & 0x0f) !== 8) {
    throw new SpdyProtocolError('header block is not a zlib stream');
  }
  if (hasDictionary && block.readUInt32BE(ZLIB_HEADER_BYTES) !== DICTIONARY_ID) {
    throw new SpdyProtocolError('header block uses an unknown dictionary');
  }
  return length;
}

export function createHeaderDecompressor(): HeaderDecompressor {
  let window = createDictionary();
  let isFirst = true;
  return {
    decompress(block) {
      const bytes = Buffer.from(block.buffer, block.byteOffset, block.byteLength);
      const compressed = isFirst ? bytes.subarray(zlibHeaderLength(bytes)) : bytes;
      isFirst = false;
      let plain: Buffer;
      try {
        plain = inflateRawSync(compressed, {
          dictionary: window,
          finishFlush: constants.Z_SYNC_FLUSH,
          maxOutputLength: MAX_BLOCK_BYTES,
        });
      } catch (cause) {
        throw new SpdyProtocolError('header block cannot be inflated', { cause });
      }
      window = Buffer.concat([window, plain]).subarray(-WINDOW_BYTES);
      return decodeHeaderBlock(plain);
    },
  };
}
