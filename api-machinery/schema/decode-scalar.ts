/** Decoder of scalars: numbers with ranges, base64, quantities, times. Pure. */

import { type Int64, MAX_INT64, MAX_UINT64, MIN_INT64 } from '../kit/int64.ts';
import { DurationError, parseDuration } from '../meta/duration.ts';
import { canonicalizeQuantity, QuantityError } from '../meta/quantity.ts';
import { formatMicroTime, formatTime, parseTime, parseTimeNanos, TimeError } from '../meta/time.ts';
import type { Scalar } from './registry.ts';

/** The value in its canonical form, or the reason why it is invalid. */
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

/** Returns the kind of a JSON value: `a list`, `true or false`… */
export function describe(value: unknown): string {
  if (value === null || value === undefined) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'an object';
  if (typeof value === 'boolean') return 'a boolean';
  return typeof value === 'string' ? 'a string' : 'a number';
}

type Range = readonly [Int64, Int64];

const INT32: Range = [-(2 ** 31), 2 ** 31 - 1];
const INTEGER_RANGES: ReadonlyMap<Scalar, Range> = new Map<Scalar, Range>([
  ['int32', INT32],
  ['uint32', [0, 2 ** 32 - 1]],
  ['int64', [MIN_INT64, MAX_INT64]],
  ['uint64', [0, MAX_UINT64]],
]);

function decodeInteger(value: unknown, [min, max]: Range): ScalarResult {
  if (typeof value === 'number') {
    if (!Number.isInteger(value)) return wrongValue('must be a whole number');
    // An inexact number may have been written as another one, out of range or with a fraction.
    if (value >= min && value <= max && Number.isSafeInteger(value)) return accept(value);
  } else if (typeof value !== 'bigint') return wrongType('a whole number', value);
  else if (value >= min && value <= max) return accept(value);
  return wrongValue(`must be between ${min} and ${max}`);
}

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

function decodeBytes(value: unknown): ScalarResult {
  if (typeof value !== 'string') return wrongType('base64 text', value);
  const text = value.replaceAll(/[\r\n]/g, '');
  return BASE64.test(text) ? accept(text) : wrongValue('must be standard base64 with padding');
}

/** Reports whether a text is obviously a canonical time, `2022-05-03T09:15:59Z`; false is inconclusive. */
function isCanonicalTime(text: string): boolean {
  if (text.length !== 20 || !CANONICAL_TIME.test(text)) return false;
  // Every month has 28 days; the parser checks later ones.
  return text.charCodeAt(8) < 0x32 || text.charCodeAt(9) < NINE;
}
const CANONICAL_TIME = /^[12]\d{3}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d)T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\dZ$/;

/** Runs a parser and converts its error to a result. */
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

/** Suffixes with which an amount below 1000 without a leading zero is canonical. */
const SHORT_SUFFIXES: ReadonlySet<string> = new Set(['', 'm', 'k', 'M', 'G', 'T', 'Ki', 'Mi', 'Gi', 'Ti']);
const ZERO = 0x30;
const NINE = 0x39;
const isDigit = (code: number): boolean => code >= ZERO && code <= NINE;

/** Reports whether a text is obviously a canonical quantity, as most are; false is inconclusive. */
export function isCanonicalQuantity(text: string): boolean {
  const { length } = text;
  if (length === 0 || length > 5) return false;
  let digits = 0;
  while (digits < length && isDigit(text.charCodeAt(digits))) digits += 1;
  if (digits === 0 || digits > 3 || text.charCodeAt(0) === ZERO) return false;
  return digits === length || SHORT_SUFFIXES.has(text.slice(digits));
}

function decodeQuantity(value: unknown): ScalarResult {
  if (typeof value === 'string') return tryParse(() => canonicalizeQuantity(value.trim()));
  if (typeof value !== 'number' && typeof value !== 'bigint') return wrongType('a quantity', value);
  return tryParse(() => canonicalizeQuantity(typeof value === 'bigint' ? String(value) : value));
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
  return typeof value === 'number' || typeof value === 'bigint'
    ? decodeInteger(value, INT32)
    : wrongType('a whole number or a string', value);
}

function decodeDuration(value: unknown): ScalarResult {
  if (typeof value !== 'string') return wrongType('a duration such as "1m30s"', value);
  return tryParse(() => {
    parseDuration(value);
    return value;
  });
}

/** Validates a scalar and returns its canonical form. `null` is never passed. */
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
      if (typeof value === 'bigint') return accept(Number(value));
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
  typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean'
    ? 'a string (put it in quotes)'
    : 'a string';
