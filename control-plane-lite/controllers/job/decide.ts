/** Decisions of the Job controller: which pods to create and delete, and when a job is finished. Pure.
 *  Source: upstream's Job controller, release 1.24. */

import type { JobCondition, JobStatus } from '#api/gen/batch-v1.ts';
import { formatTime, parseTime } from '#api/meta/time.ts';
import { findCondition, withCondition } from '../workloads-kit/conditions.ts';
import { isActive, type PodFacts } from '../workloads-kit/pod-facts.ts';
import { rankForDeletion } from '../workloads-kit/ranking.ts';
import { type Counts, countPods } from './count.ts';
import { formatIndexes } from './indexes.ts';
import type { JobFacts, JobPod } from './model.ts';

/** Pods created or deleted per reconciliation; the rest follows. */
export const BURST = 500;
const FIRST_DELAY_MS = 10_000;
const LONGEST_DELAY_MS = 360_000;

export interface JobInput {
  readonly job: JobFacts;
  readonly pods: readonly JobPod[];
  readonly nowMs: number;
  /** Report the number of ready pods in the status. */
  readonly reportReady: boolean;
}

export interface JobEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

export interface JobPlan {
  readonly remove: readonly JobPod[];
  /** One per pod to create: its index, or `undefined` in a job without indexes. */
  readonly create: readonly (number | undefined)[];
  readonly status: JobStatus;
  /** Pods whose finalizer may be removed once the status is written. */
  readonly release: readonly JobPod[];
  readonly events: readonly JobEvent[];
  /** Time until the next reconciliation without any change, in ms. */
  readonly recheckMs?: number;
}

interface Failure {
  readonly reason: string;
  readonly message: string;
}

const ranked = (pods: readonly JobPod[], nowMs: number): readonly PodFacts[] =>
  rankForDeletion(
    pods.map((pod) => ({ pod, deletionCost: 0, neighbours: 0 })),
    { nowMs, logarithmic: false },
  );

/** Reason why the job has failed. */
function failureOf(
  { job, pods, nowMs }: JobInput,
  failed: number,
  startMs: number | undefined,
): Failure | undefined {
  const restarts = pods.filter(isActive).reduce((sum, { restartSum }) => sum + restartSum, 0);
  const restarted = job.restarting && (job.backoffLimit === 0 ? restarts > 0 : restarts >= job.backoffLimit);
  if (failed > job.backoffLimit || restarted) {
    return { reason: 'BackoffLimitExceeded', message: 'Job has reached the specified backoff limit' };
  }
  const { activeDeadlineMs } = job;
  const late =
    activeDeadlineMs !== undefined &&
    startMs !== undefined &&
    !job.suspended &&
    nowMs - startMs >= activeDeadlineMs;
  return late
    ? { reason: 'DeadlineExceeded', message: 'Job was active longer than specified deadline' }
    : undefined;
}

/** Backoff until the next pod may be created, in ms: doubles with each pod that failed since the last
 *  success. */
export function retryDelayMs(pods: readonly JobPod[], nowMs: number): number {
  const lastSuccessMs = Math.max(
    0,
    ...pods.filter(({ phase }) => phase === 'Succeeded').map(({ finishedMs }) => finishedMs),
  );
  const failures = pods.filter(({ phase, finishedMs }) => phase === 'Failed' && finishedMs > lastSuccessMs);
  if (failures.length === 0) return 0;
  const lastMs = Math.max(...failures.map(({ finishedMs }) => finishedMs));
  const delayMs = Math.min(FIRST_DELAY_MS * 2 ** Math.min(failures.length - 1, 10), LONGEST_DELAY_MS);
  return Math.max(0, lastMs + delayMs - nowMs);
}

/** Desired number of active pods. */
function wantedActive({ parallelism, completions }: JobFacts, succeeded: number, active: number): number {
  if (completions === undefined) return succeeded > 0 ? Math.min(active, parallelism) : parallelism;
  return Math.max(0, Math.min(completions - succeeded, parallelism));
}

/** Pods without a valid index, and all but the best of those that share one. */
function misplaced(
  job: JobFacts,
  active: readonly JobPod[],
  done: ReadonlySet<number>,
  nowMs: number,
): readonly JobPod[] {
  const isWanted = ({ index }: JobPod): boolean =>
    index !== undefined && index < (job.completions ?? 0) && !done.has(index);
  const groups = Map.groupBy(active.filter(isWanted), ({ index }) => index);
  const doubled = new Set([...groups.values()].flatMap((same) => ranked(same, nowMs).slice(0, -1)));
  return active.filter((pod) => !isWanted(pod) || doubled.has(pod));
}

function podsToRemove(input: JobInput, active: readonly JobPod[], counts: Counts): readonly JobPod[] {
  const { job, nowMs } = input;
  if (job.suspended) return active;
  const wrong = job.indexed ? misplaced(job, active, counts.indexes, nowMs) : [];
  const surplus = active.length - wantedActive(job, counts.succeeded, active.length) - wrong.length;
  if (surplus <= 0) return wrong;
  const first = new Set(
    ranked(
      active.filter((pod) => !wrong.includes(pod)),
      nowMs,
    ).slice(0, surplus),
  );
  return [...wrong, ...active.filter((pod) => first.has(pod))];
}

function podsToCreate(
  { job }: JobInput,
  active: readonly JobPod[],
  counts: Counts,
): readonly (number | undefined)[] {
  const missing = Math.min(wantedActive(job, counts.succeeded, active.length) - active.length, BURST);
  if (missing <= 0) return [];
  if (!job.indexed) return Array.from({ length: missing }, () => undefined);
  const taken = new Set(active.map(({ index }) => index));
  const free: number[] = [];
  for (let index = 0; index < (job.completions ?? 0) && free.length < missing; index += 1) {
    if (!counts.indexes.has(index) && !taken.has(index)) free.push(index);
  }
  return free;
}

/** Start time of the job. A resumed job starts anew. */
function startOf({ job, nowMs }: JobInput): string | undefined {
  if (job.suspended) return job.status.startTime;
  const resumes = findCondition(job.status.conditions, 'Suspended')?.status === 'True';
  return resumes ? formatTime(nowMs) : (job.status.startTime ?? formatTime(nowMs));
}

const conditionOf = (type: string, status: 'True' | 'False', nowMs: number, more: object): JobCondition => {
  const now = formatTime(nowMs);
  return { type, status, lastProbeTime: now, lastTransitionTime: now, ...more };
};

/** The Suspended condition; `undefined`: unchanged. */
function suspension({ job, nowMs }: JobInput): { condition: JobCondition; event: JobEvent } | undefined {
  const before = findCondition(job.status.conditions, 'Suspended')?.status;
  if (job.suspended === (before === 'True')) return undefined;
  const [reason, message] = job.suspended ? ['JobSuspended', 'Job suspended'] : ['JobResumed', 'Job resumed'];
  return {
    condition: conditionOf('Suspended', job.suspended ? 'True' : 'False', nowMs, { reason, message }),
    event: { type: 'Normal', reason: job.suspended ? 'Suspended' : 'Resumed', message },
  };
}

/** The job with its pods counted. */
function statusOf(input: JobInput, active: readonly JobPod[], counts: Counts): JobStatus {
  const { job, reportReady } = input;
  const { conditions } = job.status;
  const startTime = startOf(input);
  return {
    ...(conditions === undefined ? {} : { conditions }),
    ...(startTime === undefined ? {} : { startTime }),
    ...(active.length === 0 ? {} : { active: active.length }),
    ...counts.status,
    ...(counts.indexes.size === 0 ? {} : { completedIndexes: formatIndexes(counts.indexes) }),
    ...(reportReady ? { ready: active.filter(({ ready }) => ready).length } : {}),
  };
}

const isComplete = ({ job }: JobInput, active: readonly JobPod[], { succeeded, settled }: Counts): boolean =>
  active.length === 0 &&
  settled &&
  (job.completions === undefined ? succeeded > 0 : succeeded >= job.completions);

/** Finishes the job: no pod stays active. */
function failJob(input: JobInput, active: readonly JobPod[], counts: Counts, failure: Failure): JobPlan {
  const { job, nowMs } = input;
  const status = statusOf(input, active, counts);
  const base = { create: [], release: counts.release, remove: active };
  // Tracked pods are counted once they have terminated, and only then is the job finished.
  if (job.tracked && (active.length > 0 || !counts.settled)) return { ...base, status, events: [] };
  const { active: _, ...rest } = status;
  const failed = counts.failed + active.length;
  const conditions = withCondition(status.conditions, conditionOf('Failed', 'True', nowMs, failure));
  return {
    ...base,
    status: {
      ...rest,
      conditions,
      ...(failed === 0 ? {} : { failed }),
      ...(rest.ready === undefined ? {} : { ready: 0 }),
    },
    events: [{ type: 'Warning', ...failure }],
  };
}

const COMPLETED: JobEvent = { type: 'Normal', reason: 'Completed', message: 'Job completed' };
const TOO_MANY: JobEvent = {
  type: 'Warning',
  reason: 'TooManySucceededPods',
  message: 'Too many succeeded pods running after completion count reached',
};

function completeJob(input: JobInput, counts: Counts): JobPlan {
  const { nowMs, job } = input;
  const status = statusOf(input, [], counts);
  return {
    remove: [],
    create: [],
    release: [],
    status: {
      ...status,
      completionTime: formatTime(nowMs),
      conditions: withCondition(status.conditions, conditionOf('Complete', 'True', nowMs, {})),
    },
    events:
      counts.succeeded > (job.completions ?? Number.POSITIVE_INFINITY) ? [TOO_MANY, COMPLETED] : [COMPLETED],
  };
}

/** Decides about an unfinished job. */
export function decideJob(input: JobInput): JobPlan {
  const { job, pods, nowMs } = input;
  const active = pods.filter(isActive);
  const counts = countPods(job, pods);
  const startTime = startOf(input);
  const startMs = startTime === undefined ? undefined : parseTime(startTime);
  const failure = failureOf(input, counts.failed, startMs);
  if (failure !== undefined) return failJob(input, active, counts, failure);
  if (isComplete(input, active, counts)) return completeJob(input, counts);
  const changed = suspension(input);
  const status = statusOf(input, active, counts);
  const remove = job.deleting ? [] : podsToRemove(input, active, counts).slice(0, BURST);
  const wanted =
    job.deleting || job.suspended || remove.length > 0 ? [] : podsToCreate(input, active, counts);
  const delayMs = wanted.length === 0 ? 0 : retryDelayMs(pods, nowMs);
  const deadlineMs =
    job.activeDeadlineMs === undefined || startMs === undefined || job.suspended
      ? undefined
      : Math.max(0, startMs + job.activeDeadlineMs - nowMs);
  const times = [...(delayMs > 0 ? [delayMs] : []), ...(deadlineMs === undefined ? [] : [deadlineMs])];
  return {
    remove,
    create: delayMs > 0 ? [] : wanted,
    release: counts.release,
    status:
      changed === undefined
        ? status
        : { ...status, conditions: withCondition(status.conditions, changed.condition) },
    events: changed === undefined ? [] : [changed.event],
    ...(times.length === 0 ? {} : { recheckMs: Math.min(...times) }),
  };
}
