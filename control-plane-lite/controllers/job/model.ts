/** A job and its pods as decisions see them. Pure. */
import { parseTime } from '#api/meta/time.ts';
import type { Job, JobStatus } from '#api/schema/gen/batch-v1.ts';
import type { ContainerStatus, Pod } from '#api/schema/gen/core-v1.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import { typed } from '../../resources/view.ts';
import type { PodFacts } from '../workloads-kit/pod-facts.ts';

export interface JobFacts {
  readonly parallelism: number;
  /** Absent: done when any pod has succeeded. */
  readonly completions?: number;
  readonly indexed: boolean;
  readonly backoffLimit: number;
  readonly activeDeadlineMs?: number;
  readonly suspended: boolean;
  /** Containers are restarted in their pods. */
  readonly restarting: boolean;
  readonly deleting: boolean;
  /** Pods are counted with the help of a finalizer, so that none is lost. */
  readonly tracked: boolean;
  readonly status: JobStatus;
}

export interface JobPod extends PodFacts {
  /** Of an indexed job; absent: it has none. */
  readonly index?: number;
  /** It has the finalizer that keeps it until it is counted. */
  readonly held: boolean;
  /** When its last container ended, in Unix ms; 0 if not known. */
  readonly finishedMs: number;
  /** Of all of its containers. */
  readonly restartSum: number;
}

export interface JobWords {
  /** Annotation of jobs and finalizer of their pods. */
  readonly tracking: string;
  readonly index: string;
}

export const jobWords = ({ domain }: Pick<Vocabulary, 'domain'>): JobWords => ({
  tracking: `batch.${domain}/job-tracking`,
  index: `batch.${domain}/job-completion-index`,
});

export function jobFacts({ metadata = {}, spec, status = {} }: Job, words: JobWords): JobFacts {
  const { completions, activeDeadlineSeconds } = spec ?? {};
  return {
    parallelism: spec?.parallelism ?? 1,
    ...(completions === undefined ? {} : { completions }),
    indexed: spec?.completionMode === 'Indexed',
    backoffLimit: spec?.backoffLimit ?? 6,
    ...(activeDeadlineSeconds === undefined ? {} : { activeDeadlineMs: activeDeadlineSeconds * 1000 }),
    suspended: spec?.suspend === true,
    restarting: spec?.template.spec?.restartPolicy === 'OnFailure',
    deleting: metadata.deletionTimestamp !== undefined,
    tracked: metadata.annotations?.[words.tracking] !== undefined,
    status,
  };
}

const endMs = ({ state }: ContainerStatus): number =>
  state?.terminated?.finishedAt === undefined ? 0 : parseTime(state.terminated.finishedAt);

/** A pod with what only jobs look at. */
export function jobPod(pod: PodFacts, words: JobWords): JobPod {
  const { metadata = {}, status = {} } = typed<Pod>(pod.cached.object());
  const containers = status.containerStatuses ?? [];
  const all = [...(status.initContainerStatuses ?? []), ...containers];
  const index = metadata.annotations?.[words.index] ?? '';
  return {
    ...pod,
    ...(/^\d{1,9}$/.test(index) ? { index: Number(index) } : {}),
    held: metadata.finalizers?.includes(words.tracking) === true,
    finishedMs: Math.max(0, ...containers.map(endMs)),
    restartSum: all.reduce((sum, { restartCount }) => sum + restartCount, 0),
  };
}

/** Whether a job has come to its end, well or not. */
export const isDone = ({ conditions = [] }: JobStatus): boolean =>
  conditions.some(({ type, status }) => (type === 'Complete' || type === 'Failed') && status === 'True');
