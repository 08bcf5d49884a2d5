/** How many pods of a job have succeeded and failed. Pure. Source: upstream's Job controller, release 1.24.
 *
 *  Without tracking, that is what the pods say that there are. With tracking, each pod is kept by a finalizer until it
 *  was counted, in three steps that may be interrupted anywhere: its uid is noted in the status; the finalizer is
 *  taken off; with no such pod held any more, the uid becomes a count. */
import type { JobStatus } from '#api/schema/gen/batch-v1.ts';
import { parseIndexes } from './indexes.ts';
import type { JobFacts, JobPod } from './model.ts';

export interface Counts {
  /** Those that are only noted included. */
  readonly succeeded: number;
  readonly failed: number;
  /** Of an indexed job. */
  readonly indexes: ReadonlySet<number>;
  /** Members of the status that hold the counts. */
  readonly status: Pick<JobStatus, 'succeeded' | 'failed' | 'uncountedTerminatedPods'>;
  /** Noted in this status; once it is written, they may go. */
  readonly release: readonly JobPod[];
  /** No pod is noted or held that has still to be counted. */
  readonly settled: boolean;
}

const counted = (name: 'succeeded' | 'failed', count: number): object =>
  count === 0 ? {} : { [name]: count };

/** Whether a pod with a finalizer counts as failed: it never ends well once it is on its way out. */
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
