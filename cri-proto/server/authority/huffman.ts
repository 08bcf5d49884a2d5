/** Decoder of the Huffman code of HTTP/2 headers, for text in ASCII. Pure. Source: RFC 7541, appendix B; the code is
 *  canonical, so that it follows from the lengths of the codes. */

/** Lengths of the codes of the ASCII characters in bits, in base 36. All other bytes have codes longer than 18 bits. */
const LENGTHS =
  'dnsssssssoussussssssssusssssssss' +
  '6aacd68baa8b8666555666666678f6ca' +
  'd67777777777777777777777878djde6' +
  'f56565666577666567655677777fbeds';

/** Longest code of a printable character. */
const LONGEST = 15;

type Codes = ReadonlyMap<number, number>;

/** Characters by code, with a leading one in front of its bits. */
function buildCodes(): Codes {
  const symbols = LENGTHS.split('').map((digit, symbol) => ({ symbol, length: Number.parseInt(digit, 36) }));
  const ordered = symbols.filter(({ length }) => length <= LONGEST).sort((a, b) => a.length - b.length);
  const codes = new Map<number, number>();
  let code = 0;
  let bits = 0;
  for (const { symbol, length } of ordered) {
    code <<= length - bits;
    bits = length;
    codes.set((1 << length) | code, symbol);
    code += 1;
  }
  return codes;
}

const CODES: Codes = buildCodes();

/** Returns the text; undefined if it contains other characters, or is not such a code. */
export function decodeHuffman(bytes: Uint8Array): string | undefined {
  let text = '';
  let pending = 1;
  for (const byte of bytes) {
    for (let bit = 7; bit >= 0; bit -= 1) {
      pending = (pending << 1) | ((byte >> bit) & 1);
      const symbol = CODES.get(pending);
      if (symbol !== undefined) {
        text += String.fromCharCode(symbol);
        pending = 1;
      } else if (pending >= 1 << (LONGEST + 1)) return undefined;
    }
  }
  // The end is padded with ones.
  const isPadding = pending < 1 << 8 && (pending & (pending + 1)) === 0;
  return isPadding ? text : undefined;
}
