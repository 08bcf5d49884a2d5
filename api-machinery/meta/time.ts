/** Points in time as RFC 3339 text: whole seconds (Time), microseconds (MicroTime), nanoseconds (logs, CRI).
 *  Inside the programs a time is Unix milliseconds (number) or Unix nanoseconds (bigint). */
import { trimEnd } from '../kit/text/trim-end.ts';

/** An invalid RFC 3339 time. */
export class TimeError extends Error {
  override readonly name = 'TimeError';
  readonly reason = 'InvalidTime';
  readonly text: string;
  constructor(text: string) {
    super(
      `time ${JSON.stringify(text.slice(0, 64))} must have the form 2006-01-02T15:04:05Z (RFC 3339, any zone)`,
    );
    this.text = text;
  }
}

const NANOS_PER_MS = 1_000_000n;
const NANOS_PER_SECOND = 1_000_000_000n;
const PATTERN = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:[.,](\d{1,30}))?(?:Z|([+-])(\d\d):(\d\d))$/;

/** Parses a time into Unix nanoseconds; finer digits are truncated.
 *  @throws TimeError also for dates that do not exist */
export function parseTimeNanos(text: string): bigint {
  const match = PATTERN.exec(text);
  if (match === null) throw new TimeError(text);
  const part = (index: number): number => Number(match[index] ?? 0);
  const [year, month, day] = [part(1), part(2), part(3)];
  const [hour, minute, second] = [part(4), part(5), part(6)];
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  date.setUTCHours(hour, minute, second);
  const exists = date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
  const zoneMinutes = part(9) * 60 + part(10);
  if (!exists || month < 1 || hour > 23 || minute > 59 || second > 59 || part(9) > 23 || part(10) > 59) {
    throw new TimeError(text);
  }
  const offsetMs = zoneMinutes * 60_000 * (match[8] === '-' ? -1 : 1);
  const fraction = BigInt((match[7] ?? '').padEnd(9, '0').slice(0, 9));
  return BigInt(date.getTime() - offsetMs) * NANOS_PER_MS + fraction;
}

/** Parses a time into Unix milliseconds; finer digits are truncated.
 *  @throws TimeError */
export function parseTime(text: string): number {
  return Number(floorDivide(parseTimeNanos(text), NANOS_PER_MS));
}

/** Divides with rounding towards minus infinity, so that times before 1970 split like those after. */
function floorDivide(amount: bigint, divisor: bigint): bigint {
  const quotient = amount / divisor;
  return amount % divisor < 0n ? quotient - 1n : quotient;
}

const LAST_SECOND = 253_402_300_799;
const DAY_SECONDS = 86_400;
/** From 1 March of the year 0 to 1970: years that start in March have the leap day at their end. */
const DAYS_TO_1970 = 719_468;
const DAYS_OF_400_YEARS = 146_097;
const TWO_DIGITS: readonly string[] = Array.from({ length: 100 }, (_, value) =>
  value.toString().padStart(2, '0'),
);
const two = (value: number): string => TWO_DIGITS[value] ?? '';

/** Formats days since 1970 as `2006-01-02`; the Gregorian calendar has a period of 400 years. */
function dayText(days: number): string {
  const all = days + DAYS_TO_1970;
  const era = Math.floor(all / DAYS_OF_400_YEARS);
  const day = all - era * DAYS_OF_400_YEARS;
  const years = Math.floor(
    (day - Math.floor(day / 1460) + Math.floor(day / 36_524) - Math.floor(day / 146_096)) / 365,
  );
  const dayOfYear = day - (365 * years + Math.floor(years / 4) - Math.floor(years / 100));
  // Five months from March on have 153 days.
  const month = Math.floor((5 * dayOfYear + 2) / 153);
  const dayOfMonth = dayOfYear - Math.floor((153 * month + 2) / 5) + 1;
  const year = years + era * 400 + (month >= 10 ? 1 : 0);
  return `${two(Math.floor(year / 100))}${two(year % 100)}-${two(month >= 10 ? month - 9 : month + 3)}-${two(dayOfMonth)}`;
}

/** Formats `2006-01-02T15:04:05`; throws RangeError outside the years 0 to 9999, which RFC 3339 cannot
 *  express. */
function secondsText(unixSeconds: number): string {
  // Objects contain many times, and Date is ten times slower.
  if (unixSeconds >= 0 && unixSeconds <= LAST_SECOND) {
    const days = Math.floor(unixSeconds / DAY_SECONDS);
    const seconds = unixSeconds - days * DAY_SECONDS;
    const minutes = Math.floor(seconds / 60);
    return `${dayText(days)}T${two(Math.floor(minutes / 60))}:${two(minutes % 60)}:${two(seconds % 60)}`;
  }
  const text = new Date(unixSeconds * 1000).toISOString();
  if (text.length !== 24) throw new RangeError(`year of ${text} has no RFC 3339 form`);
  return text.slice(0, 19);
}

/** Formats the API's Time: whole seconds, UTC. */
export function formatTime(unixMs: number): string {
  return `${secondsText(Math.floor(unixMs / 1000))}Z`;
}

/** Formats the API's MicroTime: always six decimals, UTC. */
export function formatMicroTime(unixNanos: bigint): string {
  const seconds = floorDivide(unixNanos, NANOS_PER_SECOND);
  const micros = (unixNanos - seconds * NANOS_PER_SECOND) / 1000n;
  return `${secondsText(Number(seconds))}.${micros.toString().padStart(6, '0')}Z`;
}

/** Formats RFC 3339 with up to nine decimals and no trailing zeros, UTC. */
export function formatTimeNanos(unixNanos: bigint): string {
  const seconds = floorDivide(unixNanos, NANOS_PER_SECOND);
  const nanos = unixNanos - seconds * NANOS_PER_SECOND;
  const fraction = trimEnd(nanos.toString().padStart(9, '0'), '0');
  return `${secondsText(Number(seconds))}${fraction === '' ? '' : `.${fraction}`}Z`;
}
