/** Durations in configuration syntax: `1m0s`, `100ms`, `1.5h`, `-2h3m`.
 *  Exact in nanoseconds within a signed 64-bit integer. */
import { trimEnd } from '../kit/text/trim-end.ts';

/** An invalid duration. */
export class DurationError extends Error {
  override readonly name = 'DurationError';
  readonly reason = 'InvalidDuration';
  readonly text: string;
  constructor(text: string, detail: string) {
    super(`duration ${JSON.stringify(text.slice(0, 64))} ${detail}`);
    this.text = text;
  }
}

const UNIT_NANOS: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1000n,
  µs: 1000n,
  μs: 1000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
};
const SECOND = 1_000_000_000n;
const MAX_NANOS = 2n ** 63n - 1n;
const MAX_TEXT_LENGTH = 256;
const PART = /(\d*)(?:\.(\d*))?(ns|us|µs|μs|ms|s|m|h)/gy;

/** Parses a duration into nanoseconds. `0` needs no unit; fractions of a nanosecond are truncated.
 *  @throws DurationError */
export function parseDuration(text: string): bigint {
  const unsigned = text.replace(/^[+-]/, '');
  if (unsigned === '0') return 0n;
  let nanos = 0n;
  let read = 0;
  for (const [part, whole = '', fraction = '', unit = ''] of unsigned
    .slice(0, MAX_TEXT_LENGTH)
    .matchAll(PART)) {
    if (whole === '' && fraction === '') break;
    const size = UNIT_NANOS[unit] ?? 0n;
    nanos += BigInt(`0${whole}`) * size;
    nanos += (BigInt(`0${fraction}`) * size) / 10n ** BigInt(fraction.length);
    read += part.length;
  }
  if (text.length > MAX_TEXT_LENGTH || read === 0 || read < unsigned.length) {
    throw new DurationError(text, 'must be numbers with units ns, us, ms, s, m or h, such as 1m30s');
  }
  const negative = text.startsWith('-');
  if (nanos > MAX_NANOS + (negative ? 1n : 0n)) throw new DurationError(text, 'is out of range (292 years)');
  return negative ? -nanos : nanos;
}

/** Formats 1500 thousandths as `1.5`: without trailing zeros. */
function decimalText(amount: bigint, unit: bigint): string {
  const digits = unit.toString().length - 1;
  const fraction = trimEnd((amount % unit).toString().padStart(digits, '0'), '0');
  return `${amount / unit}${fraction === '' ? '' : `.${fraction}`}`;
}

/** Returns the shortest usual text: `1h0m0s`, `1.5s`, `100ms`, `0s`. */
export function formatDuration(nanos: bigint): string {
  if (nanos === 0n) return '0s';
  const sign = nanos < 0n ? '-' : '';
  const size = nanos < 0n ? -nanos : nanos;
  if (size < 1000n) return `${sign}${size}ns`;
  if (size < 1_000_000n) return `${sign}${decimalText(size, 1000n)}µs`;
  if (size < SECOND) return `${sign}${decimalText(size, 1_000_000n)}ms`;
  const minutes = size / (60n * SECOND);
  const seconds = `${decimalText(size % (60n * SECOND), SECOND)}s`;
  if (minutes === 0n) return `${sign}${seconds}`;
  const hours = minutes / 60n;
  return hours === 0n ? `${sign}${minutes}m${seconds}` : `${sign}${hours}h${minutes % 60n}m${seconds}`;
}

/** Parses a duration into milliseconds with fractions.
 *  @throws DurationError */
export function parseDurationMs(text: string): number {
  const nanos = parseDuration(text);
  return Number(nanos / 1_000_000n) + Number(nanos % 1_000_000n) / 1e6;
}

/** Formats a number of milliseconds, exact to the nanosecond. */
export function formatDurationMs(ms: number): string {
  const whole = Math.trunc(ms);
  return formatDuration(BigInt(whole) * 1_000_000n + BigInt(Math.round((ms - whole) * 1e6)));
}
