/** Decisions of the CronJob controller: which job to create, which to delete, and the status. Pure. Source:
 *  upstream's CronJob controller, release 1.24. */

import type { CronJob, CronJobStatus, Job } from '#api/gen/batch-v1.ts';
import type { ObjectReference } from '#api/gen/core-v1.ts';
import { secondsInMs } from '#api/kit/int64.ts';
import { CronError, type CronSchedule, parseCron } from '#api/meta/cron.ts';
import { formatTime, parseTime } from '#api/meta/time.ts';
import { dueTimes } from './schedule.ts';

export interface CronFacts {
  readonly name: string;
  readonly createdMs: number;
  readonly deleting: boolean;
  readonly suspended: boolean;
  readonly schedule: string;
  /** Absent: UTC, or the zone in the schedule. */
  readonly zone?: string;
  readonly policy: 'Allow' | 'Forbid' | 'Replace';
  readonly startingDeadlineMs?: number;
  /** Absent: all are retained. */
  readonly succeededLimit?: number;
  readonly failedLimit?: number;
  readonly status: CronJobStatus;
}

/** A job that the cron job controls. */
export interface StartedJob {
  readonly name: string;
  readonly uid: string;
  readonly ended?: 'Complete' | 'Failed';
  readonly startMs: number;
  readonly completedMs?: number;
}

export interface CronEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

export interface CronPlan {
  readonly start?: { readonly name: string; readonly timeMs: number };
  readonly remove: readonly StartedJob[];
  /** Without the new jobs. */
  readonly status: CronJobStatus;
  readonly events: readonly CronEvent[];
  /** Time until the next start, in ms. */
  readonly recheckMs?: number;
}

export function cronFacts({ metadata = {}, spec, status = {} }: CronJob, zones: boolean): CronFacts {
  const { startingDeadlineSeconds, successfulJobsHistoryLimit, failedJobsHistoryLimit, timeZone } =
    spec ?? {};
  return {
    name: metadata.name ?? '',
    createdMs: metadata.creationTimestamp === undefined ? 0 : parseTime(metadata.creationTimestamp),
    deleting: metadata.deletionTimestamp !== undefined,
    suspended: spec?.suspend === true,
    schedule: spec?.schedule ?? '',
    ...(zones && timeZone !== undefined ? { zone: timeZone } : {}),
    policy: spec?.concurrencyPolicy ?? 'Allow',
    ...(startingDeadlineSeconds === undefined
      ? {}
      : { startingDeadlineMs: secondsInMs(startingDeadlineSeconds) }),
    ...(successfulJobsHistoryLimit === undefined ? {} : { succeededLimit: successfulJobsHistoryLimit }),
    ...(failedJobsHistoryLimit === undefined ? {} : { failedLimit: failedJobsHistoryLimit }),
    status,
  };
}

export function startedJob({ metadata = {}, status = {} }: Job): StartedJob {
  const ended = status.conditions?.find(
    ({ type, status: is }) => (type === 'Complete' || type === 'Failed') && is === 'True',
  )?.type;
  return {
    name: metadata.name ?? '',
    uid: metadata.uid ?? '',
    ...(ended === 'Complete' || ended === 'Failed' ? { ended } : {}),
    startMs: status.startTime === undefined ? Number.POSITIVE_INFINITY : parseTime(status.startTime),
    ...(status.completionTime === undefined ? {} : { completedMs: parseTime(status.completionTime) }),
  };
}

/** The name contains the minute, so that no time is started twice. */
export const jobNameAt = (name: string, timeMs: number): string => `${name}-${Math.floor(timeMs / 60_000)}`;

interface Running {
  readonly active: readonly ObjectReference[];
  readonly events: readonly CronEvent[];
  readonly lastSuccessMs: number;
}

/** Returns the started jobs that are still active. */
function lookAtJobs({ status }: CronFacts, jobs: readonly StartedJob[]): Running {
  const byUid = new Map(jobs.map((job) => [job.uid, job]));
  const events: CronEvent[] = [];
  const active = (status.active ?? []).filter(({ uid = '', name = '' }) => {
    const job = byUid.get(uid);
    if (job === undefined) {
      events.push({ type: 'Normal', reason: 'MissingJob', message: `Active job went missing: ${name}` });
      return false;
    }
    if (job.ended === undefined) return true;
    const message = `Saw completed job: ${name}, status: ${job.ended}`;
    events.push({ type: 'Normal', reason: 'SawCompletedJob', message });
    return false;
  });
  const known = new Set((status.active ?? []).map(({ uid }) => uid));
  for (const { uid, name, ended } of jobs) {
    if (ended !== undefined || known.has(uid)) continue;
    const message = `Saw a job that the controller did not create or forgot: ${name}`;
    events.push({ type: 'Warning', reason: 'UnexpectedJob', message });
  }
  const successes = jobs
    .filter(({ ended }) => ended === 'Complete')
    .map(({ completedMs = 0 }) => completedMs);
  return { active, events, lastSuccessMs: Math.max(0, ...successes) };
}

/** The oldest finished jobs beyond the limits. */
export function outdatedJobs(
  { succeededLimit, failedLimit }: Pick<CronFacts, 'succeededLimit' | 'failedLimit'>,
  jobs: readonly StartedJob[],
): readonly StartedJob[] {
  const beyond = (ended: StartedJob['ended'], keep: number | undefined): readonly StartedJob[] => {
    if (keep === undefined) return [];
    const done = jobs
      .filter((job) => job.ended === ended)
      .toSorted((left, right) =>
        left.startMs === right.startMs ? (left.name < right.name ? -1 : 1) : left.startMs - right.startMs,
      );
    return done.slice(0, Math.max(0, done.length - keep));
  };
  return [...beyond('Complete', succeededLimit), ...beyond('Failed', failedLimit)];
}

interface Start {
  readonly timeMs?: number;
  readonly nextMs?: number;
  readonly events: readonly CronEvent[];
}

function readSchedule(text: string): CronSchedule | CronEvent {
  try {
    return parseCron(text);
  } catch (thrown) {
    if (!(thrown instanceof CronError)) throw thrown;
    const message = `unparseable schedule: ${thrown.message}`;
    return { type: 'Warning', reason: 'UnparseableSchedule', message };
  }
}

/** The scheduled time to start now, if any. */
function decideStart(cron: CronFacts, active: readonly ObjectReference[], nowMs: number): Start {
  const { status, startingDeadlineMs: deadlineMs } = cron;
  const schedule = readSchedule(cron.schedule);
  if ('reason' in schedule) return { events: [schedule] };
  const lastMs = status.lastScheduleTime === undefined ? cron.createdMs : parseTime(status.lastScheduleTime);
  const isInterval = schedule.kind === 'interval';
  // `@every` schedules count from the last time, which must not change.
  const earliestMs = deadlineMs === undefined || isInterval ? lastMs : Math.max(lastMs, nowMs - deadlineMs);
  const due = dueTimes(schedule, earliestMs, nowMs, cron.zone);
  const next = due.nextMs === undefined ? {} : { nextMs: due.nextMs };
  if (due.lastMs === undefined) return { ...next, events: [] };
  const events: CronEvent[] = [];
  const warn = (reason: string, message: string): void =>
    void events.push({ type: 'Warning', reason, message });
  if (due.tooMany) {
    warn(
      'TooManyMissedTimes',
      'too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew',
    );
  }
  if (deadlineMs !== undefined && due.lastMs + deadlineMs < nowMs) {
    warn('MissSchedule', `Missed scheduled time to start a job: ${formatTime(due.lastMs)}`);
    return { ...next, events };
  }
  if (active.some(({ name }) => name === jobNameAt(cron.name, due.lastMs ?? 0))) return { ...next, events };
  if (cron.policy === 'Forbid' && active.length > 0) {
    const message = 'Not starting job because prior execution is running and concurrency policy is Forbid';
    events.push({ type: 'Normal', reason: 'JobAlreadyActive', message });
    return { ...next, events };
  }
  return { timeMs: due.lastMs, ...next, events };
}

export function decideCronJob(cron: CronFacts, jobs: readonly StartedJob[], nowMs: number): CronPlan {
  const { active, events, lastSuccessMs } = lookAtJobs(cron, jobs);
  const { lastScheduleTime, lastSuccessfulTime } = cron.status;
  const beforeMs = lastSuccessfulTime === undefined ? 0 : parseTime(lastSuccessfulTime);
  const successMs = Math.max(beforeMs, lastSuccessMs);
  const status: CronJobStatus = {
    ...(active.length === 0 ? {} : { active }),
    ...(lastScheduleTime === undefined ? {} : { lastScheduleTime }),
    ...(successMs === 0 ? {} : { lastSuccessfulTime: formatTime(successMs) }),
  };
  const outdated = outdatedJobs(cron, jobs);
  if (cron.deleting) return { remove: [], status, events };
  if (cron.suspended) return { remove: outdated, status, events };
  const start = decideStart(cron, active, nowMs);
  const replaced =
    start.timeMs === undefined || cron.policy !== 'Replace'
      ? []
      : jobs.filter(({ uid }) => active.some((each) => each.uid === uid));
  const { active: _, ...rest } = status;
  return {
    ...(start.timeMs === undefined
      ? {}
      : { start: { name: jobNameAt(cron.name, start.timeMs), timeMs: start.timeMs } }),
    remove: [...outdated, ...replaced],
    status: replaced.length > 0 ? rest : status,
    events: [...events, ...start.events],
    ...(start.nextMs === undefined ? {} : { recheckMs: Math.max(0, start.nextMs - nowMs) }),
  };
}
