/** Replaces the authority in a block of HTTP/2 headers if it is none: programs in Go send the path of the socket. The
 *  replacement has the same length, so that the header tables of both sides stay equal. Pure.
 *  Source: RFC 7541, sections 5 and 6; RFC 3986, section 3.2. */
import { decodeHuffman } from './huffman.ts';

const AUTHORITY_INDEX = 1;
const HUFFMAN = 0x80;
const VALID = /^[\w.\-~!$&'()*+,;=:@[\]%]*$/;
const INVALID_CHARACTERS = /[^\w.\-~!$&'()*+,;=:@[\]%]/g;

interface Integer {
  readonly value: number;
  readonly end: number;
}

/** Undefined for a number that is cut off or unreasonably large. */
function readInteger(block: Uint8Array, at: number, prefixBits: number): Integer | undefined {
  const mask = (1 << prefixBits) - 1;
  const first = block[at];
  if (first === undefined) return undefined;
  if ((first & mask) < mask) return { value: first & mask, end: at + 1 };
  let value = mask;
  for (let index = at + 1, shift = 0; shift <= 21; index += 1, shift += 7) {
    const byte = block[index];
    if (byte === undefined) return undefined;
    value += (byte & 0x7f) << shift;
    if (byte < 0x80) return { value, end: index + 1 };
  }
  return undefined;
}

/** @param value less than 128 */
function integerBytes(value: number, prefixBits: number): readonly number[] {
  const mask = (1 << prefixBits) - 1;
  if (value < mask) return [value];
  const rest = value - mask;
  return rest < 0x80 ? [mask, rest] : [mask, (rest & 0x7f) | 0x80, rest >> 7];
}

interface Text {
  readonly bytes: Uint8Array;
  readonly isHuffman: boolean;
  readonly end: number;
}

function readText(block: Uint8Array, at: number): Text | undefined {
  const length = readInteger(block, at, 7);
  if (length === undefined) return undefined;
  const end = length.end + length.value;
  if (end > block.byteLength) return undefined;
  return { bytes: block.subarray(length.end, end), isHuffman: ((block[at] ?? 0) & HUFFMAN) !== 0, end };
}

/** Returns the bits of the index of a literal field; undefined for any other representation. */
function literalPrefix(first: number): number | undefined {
  if (first >= 0x80) return undefined;
  if (first >= 0x40) return 6;
  return first >= 0x20 ? undefined : 4;
}

const LONGEST_AUTHORITY = 4096;

/** Undefined if the text may stay. */
function replacementOf({ bytes, isHuffman }: Text): string | undefined {
  if (bytes.byteLength > LONGEST_AUTHORITY) return undefined;
  const text = isHuffman ? decodeHuffman(bytes) : Buffer.from(bytes).toString('latin1');
  return text === undefined || VALID.test(text) ? undefined : text.replaceAll(INVALID_CHARACTERS, '-');
}

/** Returns the block itself unless it contains an authority that HTTP does not allow. */
export function correctAuthority(block: Uint8Array): Uint8Array {
  let at = 0;
  while (at < block.byteLength) {
    const first = block[at] ?? 0;
    const prefix = literalPrefix(first);
    if (prefix === undefined) {
      const skipped = readInteger(block, at, first >= 0x80 ? 7 : 5);
      if (skipped === undefined) return block;
      at = skipped.end;
      continue;
    }
    const index = readInteger(block, at, prefix);
    const name = index?.value === 0 ? readText(block, index.end) : index;
    const value = name === undefined ? undefined : readText(block, name.end);
    if (index === undefined || name === undefined || value === undefined) return block;
    const text = index.value === AUTHORITY_INDEX ? replacementOf(value) : undefined;
    if (text !== undefined) {
      const head = [...integerBytes(text.length, 7)];
      return Buffer.concat([
        block.subarray(0, name.end),
        Uint8Array.from(head),
        Buffer.from(text, 'latin1'),
        block.subarray(value.end),
      ]);
    }
    at = value.end;
  }
  return block;
}
