/** A job and its pods reduced to the fields that decisions read. Pure. */

import type { Job, JobStatus } from '#api/gen/batch-v1.ts';
import type { ContainerStatus, Pod } from '#api/gen/core-v1.ts';
import { secondsInMs } from '#api/kit/int64.ts';
import { parseTime } from '#api/meta/time.ts';
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
  /** Pods are counted with a finalizer, so that none is missed. */
  readonly tracked: boolean;
  readonly status: JobStatus;
}

export interface JobPod extends PodFacts {
  /** Of an indexed job; absent: it has none. */
  readonly index?: number;
  /** It has the finalizer that delays its removal until it is counted. */
  readonly held: boolean;
  /** When its last container ended, in Unix ms; 0 if not known. */
  readonly finishedMs: number;
  /** Of all of its containers. */
  readonly restartSum: number;
}

export interface JobNames {
  /** Annotation of jobs and finalizer of their pods. */
  readonly tracking: string;
  readonly index: string;
}

export const jobNames = ({ domain }: Pick<Vocabulary, 'domain'>): JobNames => ({
  tracking: `batch.${domain}/job-tracking`,
  index: `batch.${domain}/job-completion-index`,
});

export function jobFacts({ metadata = {}, spec, status = {} }: Job, names: JobNames): JobFacts {
  const { completions, activeDeadlineSeconds } = spec ?? {};
  return {
    parallelism: spec?.parallelism ?? 1,
    ...(completions === undefined ? {} : { completions }),
    indexed: spec?.completionMode === 'Indexed',
    backoffLimit: spec?.backoffLimit ?? 6,
    ...(activeDeadlineSeconds === undefined ? {} : { activeDeadlineMs: secondsInMs(activeDeadlineSeconds) }),
    suspended: spec?.suspend === true,
    restarting: spec?.template.spec?.restartPolicy === 'OnFailure',
    deleting: metadata.deletionTimestamp !== undefined,
    tracked: metadata.annotations?.[names.tracking] !== undefined,
    status,
  };
}

const endMs = ({ state }: ContainerStatus): number =>
  state?.terminated?.finishedAt === undefined ? 0 : parseTime(state.terminated.finishedAt);

/** Facts about a pod that only jobs read. */
export function jobPod(pod: PodFacts, names: JobNames): JobPod {
  const { metadata = {}, status = {} } = typed<Pod>(pod.cached.object());
  const containers = status.containerStatuses ?? [];
  const all = [...(status.initContainerStatuses ?? []), ...containers];
  const index = metadata.annotations?.[names.index] ?? '';
  return {
    ...pod,
    ...(/^\d{1,9}$/.test(index) ? { index: Number(index) } : {}),
    held: metadata.finalizers?.includes(names.tracking) === true,
    finishedMs: Math.max(0, ...containers.map(endMs)),
    restartSum: all.reduce((sum, { restartCount }) => sum + restartCount, 0),
  };
}

/** Reports whether a job is complete or failed. */
export const isDone = ({ conditions = [] }: JobStatus): boolean =>
  conditions.some(({ type, status }) => (type === 'Complete' || type === 'Failed') && status === 'True');
