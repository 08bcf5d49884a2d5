/** Resource quantities (`100m`, `1.5Gi`, `2e3`): exact amounts in nano units, never floating point.
 *  Finer amounts round away from zero; larger ones are capped at 2^63-1, as upstream.
 *  Source: the quantity grammar of the resource API. */
import type { Int64 } from '../kit/int64.ts';
import { int64Of } from '../kit/int64.ts';

export type QuantityFormat = 'decimalSI' | 'binarySI' | 'decimalExponent';

export interface Quantity {
  /** The amount in units of 10^-9. */
  readonly nanos: bigint;
  /** Suffix family of the input, also used for output. */
  readonly format: QuantityFormat;
}

/** Any representation of a quantity: parsed, or as in an API object. */
export type QuantityLike = Quantity | string | number;

/** An invalid quantity. */
export class QuantityError extends Error {
  override readonly name = 'QuantityError';
  readonly reason = 'InvalidQuantity';
  readonly text: string;
  constructor(text: string, detail: string) {
    super(`quantity ${JSON.stringify(shortened(text))} ${detail}`);
    this.text = text;
  }
}

const NANOS = 1_000_000_000n;
const NANOS_PER_MILLI = 1_000_000n;
const MAX_NANOS = (2n ** 63n - 1n) * NANOS;
/** Longer texts add no meaning: the largest amount has 19 digits, the finest 9 decimals. */
const MAX_TEXT_LENGTH = 1024;
const PATTERN = /^([+-]?)(?:(\d+)(?:\.(\d*))?|\.(\d+))(?:([KMGTPE]i)|([numkMGTPE])|[eE]([+-]?\d+))?$/;
const BINARY_SUFFIXES = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];
const DECIMAL_SUFFIXES: ReadonlyMap<number, string> = new Map([
  [-9, 'n'],
  [-6, 'u'],
  [-3, 'm'],
  [0, ''],
  [3, 'k'],
  [6, 'M'],
  [9, 'G'],
  [12, 'T'],
  [15, 'P'],
  [18, 'E'],
]);
const DECIMAL_EXPONENTS: ReadonlyMap<string, number> = new Map(
  [...DECIMAL_SUFFIXES].map(([exponent, suffix]) => [suffix, exponent]),
);

interface Unit {
  readonly nanos: bigint;
  readonly format: QuantityFormat;
}

/** Units by suffix. */
const UNITS: ReadonlyMap<string, Unit> = new Map<string, Unit>([
  ...[...DECIMAL_SUFFIXES].map(
    ([exponent, suffix]) => [suffix, { nanos: 10n ** BigInt(exponent + 9), format: 'decimalSI' }] as const,
  ),
  ...BINARY_SUFFIXES.slice(1).map(
    (suffix, index) => [suffix, { nanos: NANOS * 1024n ** BigInt(index + 1), format: 'binarySI' }] as const,
  ),
]);
/** Exact without BigInt. */
const PLAIN_DIGITS = 15;

const shortened = (text: string): string => (text.length > 64 ? `${text.slice(0, 64)}…` : text);

const ceilDivide = (amount: bigint, divisor: bigint): bigint => {
  const whole = amount / divisor;
  return amount % divisor === 0n ? whole : whole + 1n;
};

/** Returns the amount `digits · 10^exponent` in nanos, rounded up and capped. Never builds a huge number. */
function scaleDecimal(digits: bigint, digitCount: number, exponent: number): bigint {
  if (digits === 0n) return 0n;
  const shift = exponent + 9;
  if (shift > 30) return MAX_NANOS;
  if (shift < -digitCount) return 1n;
  const nanos = shift >= 0 ? digits * 10n ** BigInt(shift) : ceilDivide(digits, 10n ** BigInt(-shift));
  return nanos > MAX_NANOS ? MAX_NANOS : nanos;
}

/** Fast path for integers with or without a suffix, the form of nearly all quantities: pods have a dozen
 *  of them, each read more than once. */
function parsePlain(text: string): Quantity | undefined {
  let amount = 0;
  let at = 0;
  for (; at < text.length; at += 1) {
    const digit = text.charCodeAt(at) - 0x30;
    if (digit < 0 || digit > 9) break;
    amount = amount * 10 + digit;
  }
  const unit = at === 0 || at > PLAIN_DIGITS ? undefined : UNITS.get(text.slice(at));
  if (unit === undefined) return undefined;
  const nanos = BigInt(amount) * unit.nanos;
  return { nanos: nanos > MAX_NANOS ? MAX_NANOS : nanos, format: unit.format };
}

/** Parses a quantity. A number is read as its JSON text.
 *  @throws QuantityError if the text is invalid */
export function parseQuantity(text: string | number): Quantity {
  const source = typeof text === 'number' ? String(text) : text;
  if (source.length > MAX_TEXT_LENGTH)
    throw new QuantityError(source, `is longer than ${MAX_TEXT_LENGTH} characters`);
  const plain = parsePlain(source);
  if (plain !== undefined) return plain;
  const match = PATTERN.exec(source);
  if (match === null) {
    throw new QuantityError(
      source,
      'must be a number with an optional suffix, such as 500m, 1.5Gi, 2k or 1e3',
    );
  }
  const [, sign, whole = '', decimals = '', onlyDecimals = '', binary, decimal, exponent] = match;
  const fraction = decimals === '' ? onlyDecimals : decimals;
  const digits = BigInt(`0${whole}${fraction}`);
  const count = whole.length + fraction.length;
  const signed = (nanos: bigint): bigint => (sign === '-' ? -nanos : nanos);
  if (binary !== undefined) {
    const power = BigInt(BINARY_SUFFIXES.indexOf(binary));
    const nanos = scaleDecimal(digits * 1024n ** power, count + 19, -fraction.length);
    const format = nanos < NANOS && nanos > 0n ? 'decimalSI' : 'binarySI';
    return { nanos: signed(nanos), format };
  }
  const power =
    exponent === undefined ? (DECIMAL_EXPONENTS.get(decimal ?? '') ?? 0) : clampExponent(exponent);
  return {
    nanos: signed(scaleDecimal(digits, count, power - fraction.length)),
    format: exponent === undefined ? 'decimalSI' : 'decimalExponent',
  };
}

/** Exponents outside the range of any amount behave like the bounds, whatever their length. */
const clampExponent = (text: string): number => Math.max(-1e6, Math.min(1e6, Number(text)));

const parsed = (quantity: QuantityLike): Quantity =>
  typeof quantity === 'object' ? quantity : parseQuantity(quantity);

/** Returns the largest power of `base` that divides `amount`, at most `limit`. */
function divideOut(amount: bigint, base: bigint, limit: number): { rest: bigint; times: number } {
  let rest = amount;
  let times = 0;
  while (times < limit && rest % base === 0n) {
    rest /= base;
    times += 1;
  }
  return { rest, times };
}

/** Returns the canonical text: no fraction, the largest suffix that keeps the amount exact.
 *  Binary amounts below 1024, and those with a fraction, are written with decimal suffixes. */
export function formatQuantity(quantity: Quantity): string {
  const { nanos } = quantity;
  if (nanos === 0n) return '0';
  const size = nanos < 0n ? -nanos : nanos;
  if (quantity.format === 'binarySI' && size >= 1024n * NANOS && size % NANOS === 0n) {
    const { rest, times } = divideOut(nanos / NANOS, 1024n, 6);
    return `${rest}${BINARY_SUFFIXES[times] ?? ''}`;
  }
  const limit = quantity.format === 'decimalExponent' ? Number.POSITIVE_INFINITY : 9;
  const { rest, times } = divideOut(nanos, 1000n, limit);
  const exponent = times * 3 - 9;
  if (quantity.format !== 'decimalExponent') return `${rest}${DECIMAL_SUFFIXES.get(exponent) ?? ''}`;
  return exponent === 0 ? `${rest}` : `${rest}e${exponent}`;
}

/** Returns the canonical text of an input: `1000m` becomes `1`, `0.5Gi` becomes `512Mi`.
 *  @throws QuantityError */
export function canonicalizeQuantity(text: string | number): string {
  return formatQuantity(parseQuantity(text));
}

/** Returns -1, 0 or 1 if `left` is smaller than, equal to or greater than `right`.
 *  @throws QuantityError */
export function compareQuantities(left: QuantityLike, right: QuantityLike): -1 | 0 | 1 {
  const a = parsed(left).nanos;
  const b = parsed(right).nanos;
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** Returns the exact sum in the format of `left`, or of `right` if `left` is zero.
 *  @throws QuantityError */
export function addQuantities(left: QuantityLike, right: QuantityLike): Quantity {
  const a = parsed(left);
  const b = parsed(right);
  return { nanos: a.nanos + b.nanos, format: a.nanos === 0n ? b.format : a.format };
}

/** Returns the exact difference in the format of `left`, or of `right` if `left` is zero.
 *  @throws QuantityError */
export function subtractQuantities(left: QuantityLike, right: QuantityLike): Quantity {
  const b = parsed(right);
  return addQuantities(left, { nanos: -b.nanos, format: b.format });
}

/** Rounds away from zero, like all rounding of quantities. */
function inUnits(quantity: QuantityLike, unitNanos: bigint): bigint {
  const { nanos } = parsed(quantity);
  return nanos < 0n ? -ceilDivide(-nanos, unitNanos) : ceilDivide(nanos, unitNanos);
}

/** The amount rounded up (away from zero) to whole units, exactly.
 *  @throws QuantityError */
export const exactValue = (quantity: QuantityLike): Int64 => int64Of(inUnits(quantity, NANOS));

/** The amount rounded up (away from zero) to thousandths, exactly.
 *  @throws QuantityError */
export const exactMilliValue = (quantity: QuantityLike): Int64 => int64Of(inUnits(quantity, NANOS_PER_MILLI));

/** Returns the amount rounded up (away from zero) to whole units, exact to 2^53.
 *  @throws QuantityError */
export function value(quantity: QuantityLike): number {
  return Number(inUnits(quantity, NANOS));
}

/** Returns the amount rounded up (away from zero) to thousandths: millicores of a CPU quantity.
 *  @throws QuantityError */
export function milliValue(quantity: QuantityLike): number {
  return Number(inUnits(quantity, NANOS_PER_MILLI));
}

/** Returns the quantity rounded up to thousandths, the precision of container resources.
 *  @throws QuantityError */
export function roundUpToMilli(quantity: QuantityLike): Quantity {
  return { nanos: inUnits(quantity, NANOS_PER_MILLI) * NANOS_PER_MILLI, format: parsed(quantity).format };
}

/** Returns the nearest floating-point number, for display and metrics only.
 *  @throws QuantityError */
export function quantityToNumber(quantity: QuantityLike): number {
  const { nanos } = parsed(quantity);
  return Number(nanos / NANOS) + Number(nanos % NANOS) / 1e9;
}

/** Reports whether the text or number is a quantity. */
export function isQuantity(text: string | number): boolean {
  try {
    parseQuantity(text);
    return true;
  } catch (error) {
    if (error instanceof QuantityError) return false;
    throw error;
  }
}
