/** Durations and timestamps of the expression language: texts, limits, parts. Pure. Source: CEL specification
 *  (duration, timestamp); Go's forms of durations. */

const NS_OF: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1000n,
  µs: 1000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
};
const UNITS = ['ns', 'us', 'µs', 'ms', 'h', 'm', 's'];
const MOST_NS = 2n ** 63n;
const NS_PER_MS = 1_000_000n;

const isDigit = (char: string): boolean => char >= '0' && char <= '9';

/** Returns the duration in ns, such as of `1h30m` or `-1.5s`; undefined for other texts. Linear. */
export function parseDuration(text: string): bigint | undefined {
  const isNegative = text.startsWith('-');
  let at = isNegative || text.startsWith('+') ? 1 : 0;
  if (text.slice(at) === '0') return 0n;
  if (at === text.length || text.length > 64) return undefined;
  let total = 0n;
  while (at < text.length) {
    const from = at;
    while (isDigit(text.charAt(at))) at += 1;
    const whole = text.slice(from, at);
    let fraction = '';
    if (text.charAt(at) === '.') {
      const dot = at + 1;
      at = dot;
      while (isDigit(text.charAt(at))) at += 1;
      fraction = text.slice(dot, at);
    }
    const unit = UNITS.find((each) => text.startsWith(each, at));
    if (`${whole}${fraction}` === '' || unit === undefined) return undefined;
    at += unit.length;
    const scale = NS_OF[unit] ?? 1n;
    total += BigInt(whole === '' ? '0' : whole) * scale;
    if (fraction !== '') total += (BigInt(fraction) * scale) / 10n ** BigInt(fraction.length);
  }
  if (total >= MOST_NS) return undefined;
  return isNegative ? -total : total;
}

const TIMESTAMP =
  /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:[Zz]|([+-])(\d\d):(\d\d))$/;
const DATE = /^\d{4}-\d\d-\d\d$/;

/** Returns the time in ns since 1970 of an RFC 3339 time or date; undefined for other texts. */
export function parseTimestamp(text: string): bigint | undefined {
  if (text.length > 40) return undefined;
  const found = TIMESTAMP.exec(DATE.test(text) ? `${text}T00:00:00Z` : text);
  if (found === null) return undefined;
  const [, year, month, day, hour, minute, second, fraction = '', sign, offHour = '0', offMinute = '0'] =
    found;
  const [y, mo, d, h, mi, s] = [year, month, day, hour, minute, second].map(Number);
  if (h === undefined || mi === undefined || s === undefined || h > 23 || mi > 59 || s > 59) return undefined;
  const date = new Date(0);
  date.setUTCFullYear(y ?? 0, (mo ?? 1) - 1, d ?? 1);
  // A day that the month lacks moves to the next.
  if (date.getUTCMonth() !== (mo ?? 1) - 1 || date.getUTCDate() !== d) return undefined;
  if (Number(offHour) > 23 || Number(offMinute) > 59) return undefined;
  const offset = (Number(offHour) * 60 + Number(offMinute)) * (sign === '-' ? -60 : 60);
  const seconds = date.getTime() / 1000 + h * 3600 + mi * 60 + s - offset;
  return BigInt(seconds) * 1_000_000_000n + BigInt(fraction.padEnd(9, '0'));
}

const FIRST_NS = -62_135_596_800_000_000_000n;
const LAST_NS = 253_402_300_799_999_999_999n;

/** Reports whether the time is in the years 1 to 9999. */
export const isTimestamp = (ns: bigint): boolean => ns >= FIRST_NS && ns <= LAST_NS;
export const isDuration = (ns: bigint): boolean => ns > -MOST_NS && ns < MOST_NS;

const floorMs = (ns: bigint): number =>
  Number((ns - (((ns % NS_PER_MS) + NS_PER_MS) % NS_PER_MS)) / NS_PER_MS);

/** Returns the fraction of a second without trailing zeros, with its dot. */
function fractionText(ns: bigint): string {
  const rest = ((ns % 1_000_000_000n) + 1_000_000_000n) % 1_000_000_000n;
  if (rest === 0n) return '';
  let digits = rest.toString().padStart(9, '0');
  while (digits.endsWith('0')) digits = digits.slice(0, -1);
  return `.${digits}`;
}

export const formatTimestamp = (ns: bigint): string =>
  `${new Date(floorMs(ns)).toISOString().slice(0, 19)}${fractionText(ns)}Z`;

export function formatDuration(ns: bigint): string {
  const size = ns < 0n ? -ns : ns;
  return `${ns < 0n ? '-' : ''}${size / 1_000_000_000n}${fractionText(size)}s`;
}

export type TimePart =
  | 'FullYear'
  | 'Month'
  | 'Date'
  | 'DayOfMonth'
  | 'DayOfWeek'
  | 'DayOfYear'
  | 'Hours'
  | 'Minutes'
  | 'Seconds'
  | 'Milliseconds';

/** Returns the offset of a zone at a time, in ms; undefined for an unknown zone. */
function offsetOf(zone: string, ms: number): number | undefined {
  const fixed = /^([+-]?)(\d\d):(\d\d)$/.exec(zone);
  if (fixed !== null) {
    const minutes = Number(fixed[2]) * 60 + Number(fixed[3]);
    return (fixed[1] === '-' ? -minutes : minutes) * 60_000;
  }
  try {
    const format = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
    const parts = new Map(format.formatToParts(ms).map(({ type, value }) => [type, Number(value)]));
    const part = (name: Intl.DateTimeFormatPartTypes): number => parts.get(name) ?? 0;
    const local = Date.UTC(
      part('year'),
      part('month') - 1,
      part('day'),
      part('hour'),
      part('minute'),
      part('second'),
    );
    return local - Math.floor(ms / 1000) * 1000;
  } catch {
    return undefined;
  }
}

const MS_PER_DAY = 86_400_000;

/** Returns a part of the time in a zone; undefined for an unknown zone. */
export function timePart(ns: bigint, part: TimePart, zone = '00:00'): number | undefined {
  const ms = floorMs(ns);
  const offset = zone === 'UTC' || zone === '' ? 0 : offsetOf(zone, ms);
  if (offset === undefined) return undefined;
  const local = new Date(ms + offset);
  switch (part) {
    case 'FullYear':
      return local.getUTCFullYear();
    case 'Month':
      return local.getUTCMonth();
    case 'Date':
      return local.getUTCDate();
    case 'DayOfMonth':
      return local.getUTCDate() - 1;
    case 'DayOfWeek':
      return local.getUTCDay();
    case 'DayOfYear': {
      const first = new Date(local);
      first.setUTCMonth(0, 1);
      return Math.round((local.getTime() - first.getTime()) / MS_PER_DAY);
    }
    case 'Hours':
      return local.getUTCHours();
    case 'Minutes':
      return local.getUTCMinutes();
    case 'Seconds':
      return local.getUTCSeconds();
    case 'Milliseconds':
      return local.getUTCMilliseconds();
    default:
      return part satisfies never;
  }
}
