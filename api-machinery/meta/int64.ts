/** Whole numbers of 64 bits as text, as annotations have them: exact where numbers of JavaScript are not. Pure. */

export const MAX_INT64: bigint = 2n ** 63n - 1n;
export const MIN_INT64: bigint = -(2n ** 63n);

/** Nobody writes more digits than these; any number of zeros may stand in front of a number. */
const DECIMAL = /^[+-]?\d{1,64}$/;

/** The number; `undefined` if the text is none, or one that 64 bits do not hold. */
export function parseInt64(text: string): bigint | undefined {
  if (!DECIMAL.test(text)) return undefined;
  const value = BigInt(text.startsWith('+') ? text.slice(1) : text);
  return value >= MIN_INT64 && value <= MAX_INT64 ? value : undefined;
}
