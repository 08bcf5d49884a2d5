import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { nextCronTime, parseCron } from '#api/meta/cron.ts';
import { formatTime } from '#api/meta/time.ts';
import {
  type CronFacts,
  type CronPlan,
  decideCronJob,
  jobNameAt,
  outdatedJobs,
  type StartedJob,
} from './decide.ts';
import { dueTimes } from './schedule.ts';

const at = (time: string): number => Date.parse(`2026-01-01T${time}Z`);
const NOW_MS = at('12:00:30');

const cronOf = (changes: Partial<CronFacts> = {}): CronFacts => ({
  name: 'tick',
  createdMs: at('11:00:00'),
  deleting: false,
  suspended: false,
  schedule: '*/10 * * * *',
  policy: 'Allow',
  status: { lastScheduleTime: formatTime(at('11:50:00')) },
  ...changes,
});
const jobOf = (name: string, changes: Partial<StartedJob> = {}): StartedJob => ({
  name,
  uid: `uid-${name}`,
  startMs: 0,
  ...changes,
});
const activeOf = (...names: readonly string[]): CronFacts['status'] => ({
  active: names.map((name) => ({ name, uid: `uid-${name}` })),
  lastScheduleTime: formatTime(at('11:50:00')),
});

const decide = (changes: Partial<CronFacts>, jobs: readonly StartedJob[] = []): CronPlan =>
  decideCronJob(cronOf(changes), jobs, NOW_MS);
const started = ({ start }: CronPlan): string | undefined =>
  start === undefined ? undefined : formatTime(start.timeMs).slice(11, 19);

interface Row {
  readonly name: string;
  readonly cron: Partial<CronFacts>;
  readonly jobs?: readonly StartedJob[];
  readonly start?: string;
  readonly reasons?: readonly string[];
}

const rows: readonly Row[] = [
  { name: 'starts what is due', cron: {}, start: '12:00:00' },
  { name: 'starts nothing twice', cron: { status: { lastScheduleTime: formatTime(at('12:00:00')) } } },
  { name: 'starts nothing before it is due', cron: { createdMs: at('12:00:05'), status: {} } },
  { name: 'starts the last of many that were missed', cron: { status: {} }, start: '12:00:00' },
  {
    name: 'reports too many missed start times',
    cron: { createdMs: at('00:00:00') - 86_400_000, status: {} },
    start: '12:00:00',
    reasons: ['TooManyMissedTimes'],
  },
  {
    name: 'starts nothing for which it is too late',
    cron: { startingDeadlineMs: 20_000 },
  },
  { name: 'starts what is late, but not too late', cron: { startingDeadlineMs: 40_000 }, start: '12:00:00' },
  { name: 'suspended, starts nothing', cron: { suspended: true } },
  { name: 'on its way out, starts nothing', cron: { deleting: true } },
  {
    name: 'reports an invalid schedule',
    cron: { schedule: 'x' },
    reasons: ['UnparseableSchedule'],
  },
  {
    name: 'starts another beside one that runs',
    cron: { status: activeOf('a') },
    jobs: [jobOf('a')],
    start: '12:00:00',
  },
  {
    name: 'starts none beside one that runs, where that is forbidden',
    cron: { policy: 'Forbid', status: activeOf('a') },
    jobs: [jobOf('a')],
    reasons: ['JobAlreadyActive'],
  },
  {
    name: 'starts one when the last has ended',
    cron: { policy: 'Forbid', status: activeOf('a') },
    jobs: [jobOf('a', { ended: 'Failed' })],
    start: '12:00:00',
    reasons: ['SawCompletedJob'],
  },
  {
    name: 'counts an interval from the last start',
    cron: { schedule: '@every 7m' },
    start: '11:57:00',
  },
  {
    name: 'follows the time zone',
    cron: { schedule: '0 13 * * *', zone: 'Europe/Paris' },
    start: '12:00:00',
  },
  {
    name: 'removes a deleted job from the status',
    cron: { status: activeOf('a'), suspended: true },
    reasons: ['MissingJob'],
  },
  {
    name: 'reports an unknown job',
    cron: { suspended: true },
    jobs: [jobOf('a')],
    reasons: ['UnexpectedJob'],
  },
];

describe('decideCronJob', () => {
  test.each(rows)('$name', ({ cron, jobs, start, reasons = [] }) => {
    const plan = decide(cron, jobs);
    expect(started(plan)).toBe(start);
    expect(plan.events.map(({ reason }) => reason)).toEqual(reasons);
  });

  test('replaces running jobs', () => {
    const plan = decide({ policy: 'Replace', status: activeOf('a') }, [jobOf('a')]);
    expect(started(plan)).toBe('12:00:00');
    expect(plan.remove.map(({ name }) => name)).toEqual(['a']);
    expect(plan.status.active).toBeUndefined();
  });

  test('rechecks when the next run is due', () => {
    expect(decide({}).recheckMs).toBe(at('12:10:00') - NOW_MS);
  });

  test('records the last successful time', () => {
    const jobs = [
      jobOf('a', { ended: 'Complete', completedMs: at('11:51:00') }),
      jobOf('b', { ended: 'Complete', completedMs: at('11:41:00') }),
    ];
    expect(decide({ status: activeOf('a') }, jobs).status).toEqual({
      lastScheduleTime: formatTime(at('11:50:00')),
      lastSuccessfulTime: formatTime(at('11:51:00')),
    });
  });

  test('names a job by its minute', () => {
    expect(jobNameAt('tick', at('12:00:00'))).toBe(`tick-${at('12:00:00') / 60_000}`);
  });
});

test('outdatedJobs are the oldest that have ended, of each kind beyond its limit', () => {
  const jobs = [
    jobOf('s3', { ended: 'Complete', startMs: 3 }),
    jobOf('s1', { ended: 'Complete', startMs: 1 }),
    jobOf('s2', { ended: 'Complete', startMs: 2 }),
    jobOf('f1', { ended: 'Failed', startMs: 1 }),
    jobOf('f2', { ended: 'Failed', startMs: 2 }),
    jobOf('r'),
  ];
  const names = (limits: Parameters<typeof outdatedJobs>[0]): readonly string[] =>
    outdatedJobs(limits, jobs).map(({ name }) => name);
  expect(names({ succeededLimit: 1, failedLimit: 1 })).toEqual(['s1', 's2', 'f1']);
  expect(names({ succeededLimit: 0 })).toEqual(['s1', 's2', 's3']);
  expect(names({})).toEqual([]);
});

describe('dueTimes', () => {
  const field = (max: number): fc.Arbitrary<string> =>
    fc.oneof(
      fc.constant('*'),
      fc.nat(max).map(String),
      fc.integer({ min: 2, max }).map((step) => `*/${step}`),
    );
  const schedule = fc
    .tuple(
      field(59),
      field(23),
      fc.constantFrom('*', '1', '*/5'),
      fc.constant('*'),
      fc.constantFrom('*', '1-3'),
    )
    .map((fields) => fields.join(' '));

  test('the last is due, nothing is due after it up to now, and the next comes after now', () => {
    const nowMs = at('12:00:30');
    fc.assert(
      fc.property(schedule, fc.nat(60 * 24 * 40), (text, minutes) => {
        const parsed = parseCron(text);
        const fromMs = nowMs - minutes * 60_000;
        const { lastMs, nextMs = Number.POSITIVE_INFINITY } = dueTimes(parsed, fromMs, nowMs);
        expect(nextMs).toBeGreaterThan(nowMs);
        const first = nextCronTime(parsed, fromMs) ?? Number.POSITIVE_INFINITY;
        expect(lastMs === undefined).toBe(first > nowMs);
        const after =
          lastMs === undefined ? first : (nextCronTime(parsed, lastMs) ?? Number.POSITIVE_INFINITY);
        expect(after).toBe(nextMs);
        expect(lastMs ?? first).toBeGreaterThan(fromMs);
      }),
    );
  });

  test('intervals are counted from the start', () => {
    const parsed = parseCron('@every 90s');
    expect(dueTimes(parsed, 0, 89_000)).toEqual({ nextMs: 90_000, tooMany: false });
    expect(dueTimes(parsed, 0, 200_000)).toEqual({ lastMs: 180_000, nextMs: 270_000, tooMany: false });
  });
});
