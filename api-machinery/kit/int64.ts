/** Whole numbers of 64 bits, exact where numbers of JavaScript are not. Pure. */
import './exact-json.ts';

/** A whole number from -2^63 to 2^63 - 1; fields without a sign go to 2^64 - 1. Each number has one form: a `number` up
 *  to 2^53 - 1 on either side of zero, a `bigint` beyond. So equal numbers are `===`, as keys too, and comparisons work
 *  whatever the forms. Arithmetic does not mix them: it goes through a function here, or `Number(…)` where the nearest
 *  number is good enough. */
export type Int64 = number | bigint;

export const MAX_INT64: bigint = 2n ** 63n - 1n;
export const MIN_INT64: bigint = -(2n ** 63n);
export const MAX_UINT64: bigint = 2n ** 64n - 1n;

/** At most 64 digits, including leading zeros. */
const DECIMAL = /^[+-]?\d{1,64}$/;

/** Parses the number; `undefined` if the text is invalid or exceeds 64 bits. */
export function parseInt64(text: string): bigint | undefined {
  if (!DECIMAL.test(text)) return undefined;
  const value = BigInt(text.startsWith('+') ? text.slice(1) : text);
  return value >= MIN_INT64 && value <= MAX_INT64 ? value : undefined;
}

/** The one form of a whole number. */
export function int64Of(value: bigint): Int64 {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

/** Fewer characters, the sign included, make no number that is not exact. */
const SHORTEST_INEXACT = 16;
/** `-9223372036854775808`. */
const LONGEST_INT64 = 20;

/** Returns the value of an untyped number in JSON or YAML, as upstream reads it: a 64-bit integer if it is written as one
 *  and fits, else the nearest floating-point number.
 *  @param text of a number without a plus sign or leading zeros */
export function readNumber(text: string): number | bigint {
  const number = Number(text);
  if (text.length < SHORTEST_INEXACT || text.length > LONGEST_INT64 || Number.isSafeInteger(number))
    return number;
  const exact = parseInt64(text);
  return exact === undefined ? number : int64Of(exact);
}

/** Whether a value is a whole number, whichever form it has. */
export const isWhole = (value: unknown): value is Int64 =>
  typeof value === 'bigint' || Number.isInteger(value);

/** The exact sum. */
export function addInt64(left: Int64, right: Int64): Int64 {
  if (typeof left === 'number' && typeof right === 'number' && Number.isSafeInteger(left + right))
    return left + right;
  return int64Of(BigInt(left) + BigInt(right));
}

/** The exact difference. */
export const subtractInt64 = (left: Int64, right: Int64): Int64 => addInt64(left, -right);

/** The larger number. */
export const maxInt64 = (left: Int64, right: Int64): Int64 => (left < right ? right : left);

/** One more; at the end of the numbers it stays there. */
export function nextInt64(value: Int64): Int64 {
  const next = BigInt(value) + 1n;
  return next > MAX_INT64 ? int64Of(MAX_INT64) : int64Of(next);
}

/** The order of two numbers, for sorting. */
export const compareNumbers = (left: Int64, right: Int64): number =>
  left < right ? -1 : left > right ? 1 : 0;

/** Maximum of upstream's 64-bit durations, about 292 years. The sum with a time is still a valid date. */
export const LONGEST_MS = 9_223_372_036_854;

/** Seconds in milliseconds, as many as a duration holds: nothing waits longer, and no date is beyond what dates hold. */
export const secondsInMs = (seconds: Int64): number =>
  Math.min(Math.max(Number(seconds) * 1000, -LONGEST_MS), LONGEST_MS);
