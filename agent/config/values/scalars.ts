/** Reads single values, from the text of a flag or from the configuration file. */
import { isIP } from 'node:net';
import { type Int64, int64Of, isWhole, MAX_INT64, MAX_UINT64, MIN_INT64 } from '#api/kit/int64.ts';
import { DurationError, parseDurationMs } from '#api/meta/duration.ts';
import { canonicalizeQuantity, QuantityError } from '#api/meta/quantity.ts';
import { describeType, invalid, ok, type Parsed, wrongType } from './parsed.ts';

export type IntegerType = 'int32' | 'int64' | 'uint32' | 'uint64';

const INTEGER_LIMITS: Readonly<Record<IntegerType, readonly [Int64, Int64]>> = {
  int32: [-(2 ** 31), 2 ** 31 - 1],
  int64: [MIN_INT64, MAX_INT64],
  uint32: [0, 2 ** 32 - 1],
  uint64: [0, MAX_UINT64],
};

const TRUE_TEXTS: ReadonlySet<string> = new Set(['1', 't', 'T', 'true', 'TRUE', 'True']);
const FALSE_TEXTS: ReadonlySet<string> = new Set(['0', 'f', 'F', 'false', 'FALSE', 'False']);
const SEVERITIES: readonly string[] = ['INFO', 'WARNING', 'ERROR', 'FATAL'];

/** Reads `true`, `false` and their usual short forms. */
export function parseBoolText(text: string): Parsed<boolean> {
  if (TRUE_TEXTS.has(text)) return ok(true);
  return FALSE_TEXTS.has(text) ? ok(false) : invalid(text, 'must be true or false');
}

/** Reads a boolean of the file. */
export function parseBool(raw: unknown): Parsed<boolean> {
  return typeof raw === 'boolean'
    ? ok(raw)
    : wrongType(raw, `must be true or false without quotes, not ${describeType(raw)}`);
}

function checkInteger(value: Int64, shown: unknown, type: IntegerType): Parsed<Int64> {
  const [low, high] = INTEGER_LIMITS[type];
  // A greater number than those that are exact is perhaps not the one that was written: it had a form of its own if it
  // were one of 64 bits.
  const fits = value >= low && value <= high && (typeof value === 'bigint' || Number.isSafeInteger(value));
  return fits ? ok(value) : invalid(shown, `must be from ${low} to ${high}`);
}

/** Reads a whole number in decimal digits. */
export function parseIntegerText(text: string, type: 'int32' | 'uint32'): Parsed<number>;
export function parseIntegerText(text: string, type: IntegerType): Parsed<Int64>;
export function parseIntegerText(text: string, type: IntegerType): Parsed<Int64> {
  return /^[+-]?\d{1,20}$/.test(text)
    ? checkInteger(int64Of(BigInt(text.replace('+', ''))), text, type)
    : wrongType(text, 'must be a whole number');
}

/** Reads a whole number of the file. */
export function parseInteger(raw: unknown, type: 'int32' | 'uint32'): Parsed<number>;
export function parseInteger(raw: unknown, type: IntegerType): Parsed<Int64>;
export function parseInteger(raw: unknown, type: IntegerType): Parsed<Int64> {
  if (isWhole(raw)) return checkInteger(raw, raw, type);
  const not = typeof raw === 'number' ? '' : `, not ${describeType(raw)}`;
  return wrongType(raw, `must be a whole number${not}`);
}

/** Reads a number with a fraction. */
export function parseFloatText(text: string): Parsed<number> {
  const value = Number(text);
  return text.trim() === '' || !Number.isFinite(value) ? wrongType(text, 'must be a number') : ok(value);
}

/** Reads a number of the file. */
export function parseFloatValue(raw: unknown): Parsed<number> {
  if (typeof raw === 'bigint') return ok(Number(raw));
  return typeof raw === 'number' && Number.isFinite(raw)
    ? ok(raw)
    : wrongType(raw, `must be a number, not ${describeType(raw)}`);
}

/** Reads a duration into milliseconds. */
export function parseDurationText(text: string): Parsed<number> {
  try {
    return ok(parseDurationMs(text));
  } catch (error) {
    if (!(error instanceof DurationError)) throw error;
    const hint = /^\d+$/.test(text) ? `; did you mean ${text}s?` : '';
    return invalid(text, `must be a duration such as 1m30s or 100ms${hint}`);
  }
}

/** Reads a duration of the file. */
export function parseDurationValue(raw: unknown): Parsed<number> {
  if (typeof raw === 'string') return parseDurationText(raw);
  return wrongType(raw, `must be a duration such as 1m30s, not ${describeType(raw)}`);
}

/** Reads a duration that older files write as a whole number of nanoseconds. */
export function parseNanosecondsOrDuration(raw: unknown): Parsed<number> {
  if (typeof raw === 'bigint') return ok(Number(raw) / 1e6);
  if (typeof raw !== 'number') return parseDurationValue(raw);
  return Number.isSafeInteger(raw) ? ok(raw / 1e6) : wrongType(raw, 'must be a whole number of nanoseconds');
}

/** Reads a quantity into its canonical text. */
export function parseQuantityText(text: string): Parsed<string> {
  try {
    return ok(canonicalizeQuantity(text));
  } catch (error) {
    if (!(error instanceof QuantityError)) throw error;
    return invalid(text, 'must be a quantity such as 10Mi, 1.5Gi or 100m');
  }
}

/** Reads a quantity of the file, which may be a plain number. */
export function parseQuantityValue(raw: unknown): Parsed<string> {
  if (typeof raw === 'string') return parseQuantityText(raw);
  if (typeof raw === 'bigint' || (typeof raw === 'number' && Number.isFinite(raw)))
    return parseQuantityText(String(raw));
  return wrongType(raw, `must be a quantity such as 10Mi, not ${describeType(raw)}`);
}

/** Reads a string of the file. */
export function parseText(raw: unknown): Parsed<string> {
  if (typeof raw === 'string') return ok(raw);
  const isPlain = typeof raw === 'number' || typeof raw === 'bigint' || typeof raw === 'boolean';
  const hint = isPlain ? `; write "${String(raw)}"` : '';
  return wrongType(raw, `must be a string, not ${describeType(raw)}${hint}`);
}

/** Reads an IP address of either family. */
export function parseIPText(text: string): Parsed<string> {
  return isIP(text) === 0 ? invalid(text, 'must be an IP address such as 10.0.0.1 or ::1') : ok(text);
}

/** Reads a log severity, by name or number, into its number. */
export function parseSeverityText(text: string): Parsed<string> {
  const index = SEVERITIES.indexOf(text.toUpperCase());
  if (index >= 0) return ok(String(index));
  return /^[0-3]$/.test(text)
    ? ok(text)
    : invalid(text, `must be one of ${SEVERITIES.join(', ')}, or 0 to 3`);
}

/** Reads `file:line`. */
export function parseLocationText(text: string): Parsed<string> {
  return /^[^:\s]*:\d+$/.test(text) ? ok(text) : invalid(text, 'must be file:line, such as worker.ts:42');
}
