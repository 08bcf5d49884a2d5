/** CRC-32 combination: computes the checksum of a whole from those of its parts, so that bytes shared by many
 *  streams are summed once. A checksum is the remainder of a polynomial over GF(2), its bits in reverse
 *  order: to append n bytes is to multiply by x^8n. Pure. Source: RFC 1952 §8 (the polynomial). */

const POLYNOMIAL = 0xedb88320;
/** The polynomial 1. */
const ONE = 0x80000000;
/** The polynomial x. */
const X = 0x40000000;

/** Returns the product of two remainders. */
function multiply(a: number, b: number): number {
  let product = 0;
  let shifted = b;
  for (let bit = ONE; bit !== 0; bit >>>= 1) {
    if ((a & bit) !== 0) product ^= shifted;
    shifted = (shifted & 1) === 0 ? shifted >>> 1 : (shifted >>> 1) ^ POLYNOMIAL;
  }
  return product >>> 0;
}

/** Returns the factor by which a checksum is multiplied when so many bytes follow. */
export function shiftOf(bytes: number): number {
  let shift = ONE;
  let power = X;
  // By division, because a stream's length may need more than 32 bits.
  for (let left = bytes * 8; left > 0; left = Math.floor(left / 2)) {
    if (left % 2 === 1) shift = multiply(shift, power);
    power = multiply(power, power);
  }
  return shift;
}

/** Returns the checksum of two concatenated parts.
 *  @param shift of the second part's length */
export function joinChecksums(first: number, second: number, shift: number): number {
  return (multiply(shift, first) ^ second) >>> 0;
}
