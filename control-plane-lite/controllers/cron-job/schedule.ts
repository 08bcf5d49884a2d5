/** Last and next start times of a cron job. Pure. Source: upstream's CronJob controller, release 1.24. */
import { type CronSchedule, nextCronTime } from '#api/meta/cron.ts';

export interface DueTimes {
  /** The last time up to now at which a job was due and none was started; absent: none. */
  readonly lastMs?: number;
  /** Absent: never again. */
  readonly nextMs?: number;
  /** Too many starts were missed: most likely an error. */
  readonly tooMany: boolean;
}

const MINUTE_MS = 60_000;
const TOO_MANY = 100;

/** The last time after `fromMs` and up to now. */
function lastOfFields(
  schedule: CronSchedule,
  fromMs: number,
  nowMs: number,
  zone?: string,
): number | undefined {
  const dueAfter = (ms: number): number | undefined => {
    const dueMs = nextCronTime(schedule, ms, zone);
    return dueMs !== undefined && dueMs <= nowMs ? dueMs : undefined;
  };
  let spanMs = MINUTE_MS;
  while (nowMs - spanMs > fromMs && dueAfter(nowMs - spanMs) === undefined) spanMs *= 2;
  let low = Math.max(fromMs, nowMs - spanMs);
  let found = dueAfter(low);
  if (found === undefined) return undefined;
  let high = nowMs;
  // The first time after `low` has passed; the first time after `high` has not.
  while (high - low > 1000) {
    const middle = Math.floor((low + high) / 2);
    const due = dueAfter(middle);
    if (due === undefined) high = middle;
    else {
      low = middle;
      found = due;
    }
  }
  return found;
}

/** `fromMs`: the last settled time; for an `@every` schedule the start of counting. */
export function dueTimes(schedule: CronSchedule, fromMs: number, nowMs: number, zone?: string): DueTimes {
  if (schedule.kind === 'interval') {
    const { periodMs } = schedule;
    const count = Math.max(0, Math.floor((nowMs - fromMs) / periodMs));
    const nextMs = fromMs + (count + 1) * periodMs;
    return count === 0
      ? { nextMs, tooMany: false }
      : { lastMs: fromMs + count * periodMs, nextMs, tooMany: count > TOO_MANY };
  }
  const lastMs = lastOfFields(schedule, fromMs, nowMs, zone);
  const nextMs = nextCronTime(schedule, nowMs, zone);
  const next = nextMs === undefined ? {} : { nextMs };
  if (lastMs === undefined) return { ...next, tooMany: false };
  const firstMs = nextCronTime(schedule, fromMs, zone) ?? lastMs;
  const secondMs = nextCronTime(schedule, firstMs, zone) ?? Number.POSITIVE_INFINITY;
  const missed = Math.floor((nowMs - firstMs) / (secondMs - firstMs)) + 1;
  return { lastMs, ...next, tooMany: missed > TOO_MANY };
}
