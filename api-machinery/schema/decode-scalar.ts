/** Values that are not objects of known fields: numbers with ranges, base64, quantities, times. Pure. */

import { DurationError, parseDuration } from '../meta/duration.ts';
import { canonicalizeQuantity, QuantityError } from '../meta/quantity.ts';
import { formatMicroTime, formatTime, parseTime, parseTimeNanos, TimeError } from '../meta/time.ts';
import type { Scalar } from './registry.ts';

/** The value in its canonical form, or what is wrong with it. */
export type ScalarResult =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly type: boolean; readonly detail: string };

const accept = (value: unknown): ScalarResult => ({ ok: true, value });
const wrongType = (expected: string, value: unknown): ScalarResult => ({
  ok: false,
  type: true,
  detail: `must be ${expected}, not ${describe(value)}`,
});
const wrongValue = (detail: string): ScalarResult => ({ ok: false, type: false, detail });

/** `a list`, `true or false`…: what kind of JSON value this is. */
export function describe(value: unknown): string {
  if (value === null || value === undefined) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'an object';
  if (typeof value === 'boolean') return 'a boolean';
  return typeof value === 'number' ? 'a number' : 'a string';
}

const INTEGER_RANGES: ReadonlyMap<Scalar, readonly [number, number]> = new Map<
  Scalar,
  readonly [number, number]
>([
  ['int32', [-(2 ** 31), 2 ** 31 - 1]],
  ['uint32', [0, 2 ** 32 - 1]],
  // JSON numbers are exact up to 2^53; nothing in the API needs more.
  ['int64', [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER]],
  ['uint64', [0, Number.MAX_SAFE_INTEGER]],
]);

function decodeInteger(value: unknown, [min, max]: readonly [number, number]): ScalarResult {
  if (typeof value !== 'number') return wrongType('a whole number', value);
  if (!Number.isFinite(value) || (!Number.isInteger(value) && Math.abs(value) < 2 ** 53)) {
    return wrongValue('must be a whole number');
  }
  return value >= min && value <= max ? accept(value) : wrongValue(`must be between ${min} and ${max}`);
}

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

function decodeBytes(value: unknown): ScalarResult {
  if (typeof value !== 'string') return wrongType('base64 text', value);
  const text = value.replaceAll(/[\r\n]/g, '');
  return BASE64.test(text) ? accept(text) : wrongValue('must be standard base64 with padding');
}

/** Whether a text is plainly a time in its canonical form, `2022-05-03T09:15:59Z`; false says nothing. */
function isCanonicalTime(text: string): boolean {
  if (text.length !== 20 || !CANONICAL_TIME.test(text)) return false;
  // Every month has 28 days; the others are left to the parser.
  return text.charCodeAt(8) < 0x32 || text.charCodeAt(9) < NINE;
}
const CANONICAL_TIME = /^[12]\d{3}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d)T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\dZ$/;

/** Runs a parser and turns its own error into a result. */
function tryParse(parse: () => unknown): ScalarResult {
  try {
    return accept(parse());
  } catch (error) {
    if (error instanceof QuantityError || error instanceof TimeError || error instanceof DurationError) {
      return wrongValue(error.message);
    }
    if (error instanceof RangeError) return wrongValue('is out of range');
    throw error;
  }
}

/** Suffixes with which an amount below 1000 that does not begin with a zero is as short as it can be. */
const SHORT_SUFFIXES: ReadonlySet<string> = new Set(['', 'm', 'k', 'M', 'G', 'T', 'Ki', 'Mi', 'Gi', 'Ti']);
const ZERO = 0x30;
const NINE = 0x39;
const isDigit = (code: number): boolean => code >= ZERO && code <= NINE;

/** Whether a text is plainly a quantity in its canonical form, as most are; false says nothing. */
export function isCanonicalQuantity(text: string): boolean {
  const { length } = text;
  if (length === 0 || length > 5) return false;
  let digits = 0;
  while (digits < length && isDigit(text.charCodeAt(digits))) digits += 1;
  if (digits === 0 || digits > 3 || text.charCodeAt(0) === ZERO) return false;
  return digits === length || SHORT_SUFFIXES.has(text.slice(digits));
}

function decodeQuantity(value: unknown): ScalarResult {
  if (typeof value !== 'string' && typeof value !== 'number') return wrongType('a quantity', value);
  return tryParse(() => canonicalizeQuantity(typeof value === 'string' ? value.trim() : value));
}

function decodeTime(value: unknown, micro: boolean): ScalarResult {
  if (typeof value !== 'string') return wrongType('a time as text', value);
  if (!micro && isCanonicalTime(value)) return accept(value);
  return tryParse(() => {
    const nanos = parseTimeNanos(value);
    return micro ? formatMicroTime(nanos) : formatTime(parseTime(value));
  });
}

function decodeIntOrString(value: unknown): ScalarResult {
  if (typeof value === 'string') return accept(value);
  return typeof value === 'number'
    ? decodeInteger(value, [-(2 ** 31), 2 ** 31 - 1])
    : wrongType('a whole number or a string', value);
}

function decodeDuration(value: unknown): ScalarResult {
  if (typeof value !== 'string') return wrongType('a duration such as "1m30s"', value);
  return tryParse(() => {
    parseDuration(value);
    return value;
  });
}

/** Checks a scalar and gives its canonical form. `null` is never passed. */
export function decodeScalar(scalar: Scalar, value: unknown): ScalarResult {
  switch (scalar) {
    case 'string':
      return typeof value === 'string' ? accept(value) : wrongType(stringHint(value), value);
    case 'bool':
      return typeof value === 'boolean' ? accept(value) : wrongType('true or false', value);
    case 'int32':
    case 'int64':
    case 'uint32':
    case 'uint64':
      return decodeInteger(value, INTEGER_RANGES.get(scalar) ?? [0, 0]);
    case 'float':
    case 'double':
      return typeof value === 'number' ? accept(value) : wrongType('a number', value);
    case 'bytes':
      return decodeBytes(value);
    case 'Time':
    case 'MicroTime':
      return decodeTime(value, scalar === 'MicroTime');
    case 'Duration':
      return decodeDuration(value);
    case 'Quantity':
    case 'QuantityValue':
      return decodeQuantity(value);
    case 'IntOrString':
      return decodeIntOrString(value);
    case 'FieldsV1':
      return describe(value) === 'an object' ? accept(value) : wrongType('an object', value);
    case 'any':
    case 'RawExtension':
      return accept(value);
    default:
      return scalar satisfies never;
  }
}

const stringHint = (value: unknown): string =>
  typeof value === 'number' || typeof value === 'boolean' ? 'a string (put it in quotes)' : 'a string';
