/** Counts the succeeded and failed pods of a job. Pure. Source: upstream's Job controller, release 1.24.
 *
 *  Without tracking, the pods that exist are counted. With tracking, a finalizer protects each pod until it is
 *  counted, in three steps that may be interrupted anywhere: its uid is recorded in the status; the finalizer is
 *  removed; once no such pod is protected any more, the uid becomes a count. */
import type { JobStatus } from '#api/gen/batch-v1.ts';
import { parseIndexes } from './indexes.ts';
import type { JobFacts, JobPod } from './model.ts';

export interface Counts {
  /** Includes uncounted pods in the status. */
  readonly succeeded: number;
  readonly failed: number;
  /** Of an indexed job. */
  readonly indexes: ReadonlySet<number>;
  /** Status fields that hold the counts. */
  readonly status: Pick<JobStatus, 'succeeded' | 'failed' | 'uncountedTerminatedPods'>;
  /** Recorded in this status; their finalizers may be removed once it is written. */
  readonly release: readonly JobPod[];
  /** No recorded or finalizer-protected pod is still uncounted. */
  readonly settled: boolean;
}

const counted = (name: 'succeeded' | 'failed', count: number): object =>
  count === 0 ? {} : { [name]: count };

/** Reports whether a pod with a finalizer counts as failed: a terminating pod cannot succeed. */
const hasFailed = ({ phase, deleting }: JobPod): boolean =>
  phase === 'Failed' || (deleting && phase !== 'Succeeded');

const isValidIndex = ({ completions = 0 }: JobFacts, index: number | undefined): index is number =>
  index !== undefined && index < completions;

function indexesOf(job: JobFacts, pods: readonly JobPod[], known: ReadonlySet<number>): ReadonlySet<number> {
  const indexes = new Set(known);
  for (const { phase, index } of pods) {
    if (phase === 'Succeeded' && isValidIndex(job, index)) indexes.add(index);
  }
  return indexes;
}

function countPlain(job: JobFacts, pods: readonly JobPod[]): Counts {
  const indexes = job.indexed ? indexesOf(job, pods, new Set()) : new Set<number>();
  const done = pods.filter(({ phase }) => phase === 'Succeeded').length;
  const succeeded = job.indexed ? indexes.size : done;
  const failed = pods.filter(({ phase }) => phase === 'Failed').length;
  const status = { ...counted('succeeded', succeeded), ...counted('failed', failed) };
  return { succeeded, failed, indexes, status, release: [], settled: true };
}

function countTracked(job: JobFacts, pods: readonly JobPod[]): Counts {
  const { status: before, completions = 0 } = job;
  const held = pods.filter((pod) => pod.held);
  const heldUids = new Set(held.map(({ uid }) => uid));
  const { succeeded: notedSucceeded = [], failed: notedFailed = [] } = before.uncountedTerminatedPods ?? {};
  const noted = new Set([...notedSucceeded, ...notedFailed]);
  const known = job.indexed ? parseIndexes(before.completedIndexes ?? '', completions) : new Set<number>();
  const indexes = job.indexed ? indexesOf(job, held, known) : known;
  const ended = held.filter((pod) => pod.phase === 'Succeeded' || hasFailed(pod));
  const news = ended.filter(({ uid }) => !noted.has(uid));
  const still = (uids: readonly string[]): readonly string[] => uids.filter((uid) => heldUids.has(uid));
  const uidsOf = (some: readonly JobPod[]): readonly string[] => some.map(({ uid }) => uid);
  const nextSucceeded = job.indexed
    ? []
    : [...still(notedSucceeded), ...uidsOf(news.filter(({ phase }) => phase === 'Succeeded'))];
  const nextFailed = [...still(notedFailed), ...uidsOf(news.filter(hasFailed))];
  const doneBefore = (before.succeeded ?? 0) + notedSucceeded.length - still(notedSucceeded).length;
  const failedBefore = (before.failed ?? 0) + notedFailed.length - still(notedFailed).length;
  const doneNow = job.indexed ? indexes.size : doneBefore;
  return {
    succeeded: job.indexed ? indexes.size : doneBefore + nextSucceeded.length,
    failed: failedBefore + nextFailed.length,
    indexes,
    status: {
      ...counted('succeeded', doneNow),
      ...counted('failed', failedBefore),
      uncountedTerminatedPods: {
        ...(nextSucceeded.length > 0 ? { succeeded: nextSucceeded } : {}),
        ...(nextFailed.length > 0 ? { failed: nextFailed } : {}),
      },
    },
    release: ended,
    settled: nextSucceeded.length === 0 && nextFailed.length === 0 && ended.length === 0,
  };
}

export const countPods = (job: JobFacts, pods: readonly JobPod[]): Counts =>
  job.tracked ? countTracked(job, pods) : countPlain(job, pods);
