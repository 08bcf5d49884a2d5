/** Formats ages in tables and parses durations on the command line. Pure. */
import { parseDurationMs } from '#api/meta/duration.ts';
import { UsageError } from '../errors.ts';

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const YEAR = 365 * DAY;

/** Units of an age below the limit (in seconds); the finer unit only while it matters. */
const STEPS: readonly {
  readonly below: number;
  readonly unit: number;
  readonly sign: string;
  readonly fine?: readonly [unit: number, sign: string];
}[] = [
  { below: 2 * MINUTE, unit: 1, sign: 's' },
  { below: 10 * MINUTE, unit: MINUTE, sign: 'm', fine: [1, 's'] },
  { below: 3 * HOUR, unit: MINUTE, sign: 'm' },
  { below: 8 * HOUR, unit: HOUR, sign: 'h', fine: [MINUTE, 'm'] },
  { below: 2 * DAY, unit: HOUR, sign: 'h' },
  { below: 8 * DAY, unit: DAY, sign: 'd', fine: [HOUR, 'h'] },
  { below: 2 * YEAR, unit: DAY, sign: 'd' },
  { below: 8 * YEAR, unit: YEAR, sign: 'y', fine: [DAY, 'd'] },
  { below: Number.POSITIVE_INFINITY, unit: YEAR, sign: 'y' },
];

/** Formats `42s`, `3m12s`, `5d`: two units while the first is small, as upstream. */
export function formatAge(ageMs: number): string {
  const seconds = Math.max(0, Math.floor(ageMs / 1000));
  for (const { below, unit, sign, fine } of STEPS) {
    if (seconds >= below) continue;
    const whole = `${Math.floor(seconds / unit)}${sign}`;
    const rest = fine === undefined ? 0 : Math.floor((seconds % unit) / fine[0]);
    return fine === undefined || rest === 0 ? whole : `${whole}${rest}${fine[1]}`;
  }
  return `${seconds}s`;
}

/** Formats the age of an RFC 3339 time; `<unknown>` without one. A time in the future is 0s. */
export function formatSince(time: string | undefined, nowMs: number): string {
  const thenMs = time === undefined ? Number.NaN : Date.parse(time);
  return Number.isNaN(thenMs) ? '<unknown>' : formatAge(nowMs - thenMs);
}

/** Parses `5m`, `1h30m` or `90` (seconds) into seconds, rounded up.
 *  @throws UsageError */
export function parseSeconds(option: string, text: string): number {
  try {
    const seconds = /^\d+$/.test(text) ? Number(text) : Math.ceil(parseDurationMs(text) / 1000);
    if (seconds >= 0 && Number.isSafeInteger(seconds)) return seconds;
  } catch (cause) {
    throw new UsageError(
      `${option}: invalid value ${JSON.stringify(text)}: must be a duration such as 30s or 1h30m`,
      {
        cause,
      },
    );
  }
  throw new UsageError(`${option}: invalid value ${JSON.stringify(text)}: must not be negative`);
}
