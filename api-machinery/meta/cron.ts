/** Cron schedules: five fields (`30 8-18 * * mon-fri`), the usual `@daily` names, `@every 1h30m`, and a
 *  leading time zone (`TZ=Europe/Paris 0 3 * * *`). Pure: the next time is computed from a given time.
 *  Days of month and week: if both are restricted, either makes a day match; otherwise both must match. */
import { DurationError, parseDurationMs } from './duration.ts';

/** An invalid schedule, or a time zone that does not exist. */
export class CronError extends Error {
  override readonly name = 'CronError';
  readonly reason = 'InvalidSchedule';
  readonly text: string;
  constructor(text: string, detail: string, cause?: unknown) {
    super(`schedule ${JSON.stringify(text.slice(0, 100))} ${detail}`, { cause });
    this.text = text;
  }
}

interface Field {
  readonly values: ReadonlySet<number>;
  /** `*` or `?`: restricts nothing. */
  readonly any: boolean;
}

export interface CronFields {
  readonly kind: 'fields';
  readonly minutes: Field;
  readonly hours: Field;
  readonly daysOfMonth: Field;
  readonly months: Field;
  readonly daysOfWeek: Field;
  /** IANA name in the schedule; absent: the caller's. */
  readonly zone?: string;
}

export interface CronInterval {
  readonly kind: 'interval';
  /** Whole seconds, at least one. */
  readonly periodMs: number;
}

export type CronSchedule = CronFields | CronInterval;

interface Bounds {
  readonly name: string;
  readonly first: number;
  readonly last: number;
  readonly names?: readonly string[];
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const WEEKDAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
const BOUNDS: readonly Bounds[] = [
  { name: 'minute', first: 0, last: 59 },
  { name: 'hour', first: 0, last: 23 },
  { name: 'day of month', first: 1, last: 31 },
  { name: 'month', first: 1, last: 12, names: MONTHS },
  { name: 'day of week', first: 0, last: 6, names: WEEKDAYS },
];
const WORDS: ReadonlyMap<string, string> = new Map([
  ['@yearly', '0 0 1 1 *'],
  ['@annually', '0 0 1 1 *'],
  ['@monthly', '0 0 1 * *'],
  ['@weekly', '0 0 * * 0'],
  ['@daily', '0 0 * * *'],
  ['@midnight', '0 0 * * *'],
  ['@hourly', '0 * * * *'],
]);
const MAX_TEXT_LENGTH = 1024;
const MINUTE_MS = 60_000;
const DAY_MINUTES = 24 * 60;
/** A schedule that is not due within this many days never is (29 February on a given weekday recurs after
 *  at most 28 years). */
const HORIZON_DAYS = 366 * 40;

function readNumber(text: string, bounds: Bounds, whole: string): number {
  const word = bounds.names?.indexOf(text.toLowerCase()) ?? -1;
  if (word >= 0) return word + bounds.first;
  if (!/^\d{1,3}$/.test(text)) throw new CronError(whole, `has no ${bounds.name} '${text}'`);
  const number = Number(text);
  if (number < bounds.first || number > bounds.last) {
    throw new CronError(whole, `has ${bounds.name} ${number}, must be ${bounds.first} to ${bounds.last}`);
  }
  return number;
}

function readRange(text: string, bounds: Bounds, whole: string): Field {
  const [range = '', stepText, ...more] = text.split('/');
  if (more.length > 0) throw new CronError(whole, `has too many slashes in '${text}'`);
  const any = range === '*' || range === '?';
  const [from = '', to, ...rest] = any ? [] : range.split('-');
  if (rest.length > 0) throw new CronError(whole, `has too many hyphens in '${text}'`);
  const first = any ? bounds.first : readNumber(from, bounds, whole);
  const openEnd = any || (to === undefined && stepText !== undefined);
  const last = openEnd ? bounds.last : to === undefined ? first : readNumber(to, bounds, whole);
  if (last < first) throw new CronError(whole, `has a range '${range}' that ends before it starts`);
  if (stepText !== undefined && !/^[1-9]\d{0,3}$/.test(stepText)) {
    throw new CronError(whole, `has a step '${stepText}', must be a number above 0`);
  }
  const step = Number(stepText ?? 1);
  const values = new Set<number>();
  for (let value = first; value <= last; value += step) values.add(value);
  return { values, any: any && step === 1 };
}

function readField(text: string, bounds: Bounds, whole: string): Field {
  const ranges = text.split(',').map((range) => {
    if (range === '') throw new CronError(whole, `has an empty ${bounds.name}`);
    return readRange(range, bounds, whole);
  });
  return {
    values: new Set(ranges.flatMap((range) => [...range.values])),
    any: ranges.some((range) => range.any),
  };
}

function readInterval(text: string): CronInterval {
  try {
    const ms = parseDurationMs(text.slice('@every '.length).trim());
    return { kind: 'interval', periodMs: Math.max(1000, Math.floor(ms / 1000) * 1000) };
  } catch (error) {
    if (error instanceof DurationError) throw new CronError(text, 'has no duration after @every', error);
    throw error;
  }
}

/** Reports whether the name is an IANA time zone. */
export function isTimeZone(name: string): boolean {
  if (name === '' || /^local$/i.test(name) || /^[+-]/.test(name)) return false;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

/** Parses a schedule.
 *  @throws CronError */
export function parseCron(text: string): CronSchedule {
  if (text.length > MAX_TEXT_LENGTH)
    throw new CronError(text, `is longer than ${MAX_TEXT_LENGTH} characters`);
  const zoned = /^(?:CRON_)?TZ=(\S*)\s+([\s\S]*)$/.exec(text);
  const zone = zoned?.[1];
  if (zone !== undefined && !isTimeZone(zone))
    throw new CronError(text, `names an unknown time zone '${zone}'`);
  const rest = (zoned?.[2] ?? text).trim();
  if (rest.startsWith('@every ')) return readInterval(rest);
  const known = WORDS.get(rest);
  if (known === undefined && rest.startsWith('@'))
    throw new CronError(text, `has an unknown descriptor '${rest}'`);
  const parts = (known ?? rest).split(/\s+/).filter((part) => part !== '');
  if (parts.length !== BOUNDS.length) {
    throw new CronError(text, 'must have 5 fields: minute, hour, day of month, month, day of week');
  }
  const fields = BOUNDS.map((bounds, index) => readField(parts[index] ?? '', bounds, text));
  const [minutes, hours, daysOfMonth, months, daysOfWeek] = fields;
  if (!minutes || !hours || !daysOfMonth || !months || !daysOfWeek)
    throw new CronError(text, 'has no fields');
  const place = zone === undefined ? {} : { zone };
  return { kind: 'fields', minutes, hours, daysOfMonth, months, daysOfWeek, ...place };
}

interface WallClock {
  readonly month: number;
  readonly day: number;
  readonly weekday: number;
  readonly hour: number;
  readonly minute: number;
}

/** Returns the wall clock of a time zone at a point in time. */
type ReadClock = (ms: number) => WallClock;

const readUtc: ReadClock = (ms) => {
  const date = new Date(ms);
  return {
    month: date.getUTCMonth() + 1,
    day: date.getUTCDate(),
    weekday: date.getUTCDay(),
    hour: date.getUTCHours(),
    minute: date.getUTCMinutes(),
  };
};

function createZoneClock(zone: string): ReadClock {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    hourCycle: 'h23',
    month: 'numeric',
    day: 'numeric',
    weekday: 'short',
    hour: 'numeric',
    minute: 'numeric',
  });
  return (ms) => {
    const parts = new Map(format.formatToParts(ms).map(({ type, value }) => [type, value]));
    const number = (type: Intl.DateTimeFormatPartTypes): number => Number(parts.get(type));
    const weekday = WEEKDAYS.indexOf((parts.get('weekday') ?? '').toLowerCase());
    return {
      month: number('month'),
      day: number('day'),
      weekday,
      hour: number('hour'),
      minute: number('minute'),
    };
  };
}

function isDayDue(fields: CronFields, { month, day, weekday }: WallClock): boolean {
  if (!fields.months.values.has(month)) return false;
  const monthDay = fields.daysOfMonth.values.has(day);
  const weekDay = fields.daysOfWeek.values.has(weekday);
  return fields.daysOfMonth.any || fields.daysOfWeek.any ? monthDay && weekDay : monthDay || weekDay;
}

/** Returns the first minute of the next day: not always 24 hours later because of daylight saving time. */
function nextMidnight(ms: number, clock: WallClock, read: ReadClock): number {
  const next = ms + (DAY_MINUTES - clock.hour * 60 - clock.minute) * MINUTE_MS;
  const there = read(next);
  const past = there.day === clock.day ? 0 : there.hour * 60 + there.minute;
  const midnight = next - past * MINUTE_MS;
  return past > 0 && read(midnight).day === clock.day ? next : midnight;
}

/** Returns the next time after a point in time, in Unix ms; `undefined` if there is none.
 *  @param zone IANA name; the schedule's own takes precedence; default UTC */
export function nextCronTime(schedule: CronSchedule, afterMs: number, zone?: string): number | undefined {
  if (schedule.kind === 'interval') return Math.floor(afterMs / 1000) * 1000 + schedule.periodMs;
  const place = schedule.zone ?? zone ?? 'UTC';
  const read = place === 'UTC' ? readUtc : createZoneClock(place);
  let ms = (Math.floor(afterMs / MINUTE_MS) + 1) * MINUTE_MS;
  for (let days = 0; days < HORIZON_DAYS; ) {
    const clock = read(ms);
    if (!isDayDue(schedule, clock)) {
      ms = nextMidnight(ms, clock, read);
      days += 1;
    } else if (!schedule.hours.values.has(clock.hour)) ms += (60 - clock.minute) * MINUTE_MS;
    else if (!schedule.minutes.values.has(clock.minute)) ms += MINUTE_MS;
    else return ms;
  }
  return undefined;
}
