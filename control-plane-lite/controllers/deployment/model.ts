/** A Deployment and its ReplicaSets reduced to the fields that decisions read. Pure. */

import type { Deployment, DeploymentStatus, ReplicaSet, ReplicaSetCondition } from '#api/gen/apps-v1.ts';
import type { PodTemplateSpec } from '#api/gen/core-v1.ts';
import type { LabelSelector } from '#api/gen/meta-v1.ts';
import type { Int64 } from '#api/kit/int64.ts';
import { resolveAmount } from '#api/meta/int-or-string.ts';
import { parseTime } from '#api/meta/time.ts';
import { CLIENT_SIDE_APPLY, type Vocabulary } from '#api/vocabulary.ts';
import { sameTemplate as sameForm } from '../workloads-kit/template-form.ts';

type Texts = Readonly<Record<string, string>>;

/** Label that distinguishes the pods of the template's revisions. */
export const HASH_LABEL = 'pod-template-hash';

/** Value that means "no limit". */
const NO_LIMIT = 2 ** 31 - 1;

export interface DeploymentFacts {
  readonly name: string;
  readonly namespace: string;
  readonly generation: Int64;
  readonly annotations: Texts;
  readonly deleting: boolean;
  readonly replicas: number;
  readonly recreate: boolean;
  /** Pods above and below the desired number that an update may cause; never both are 0. */
  readonly maxSurge: number;
  readonly maxUnavailable: number;
  readonly selector: LabelSelector;
  readonly template: PodTemplateSpec;
  readonly minReadySeconds: number;
  readonly paused: boolean;
  /** Absent: progress is not reported. */
  readonly progressDeadlineMs?: number;
  /** Absent: all old ReplicaSets are retained. */
  readonly revisionHistoryLimit?: number;
  readonly status: DeploymentStatus;
}

export interface ReplicaSetFacts {
  readonly name: string;
  /** Empty: not yet created. */
  readonly uid: string;
  readonly createdMs: number;
  readonly deleting: boolean;
  readonly annotations: Texts;
  readonly replicas: number;
  readonly minReadySeconds: number;
  readonly template: PodTemplateSpec;
  readonly selector: LabelSelector;
  /** The controller has observed its last change. */
  readonly observed: boolean;
  /** Pods that there are. */
  readonly actual: number;
  readonly ready: number;
  readonly available: number;
  readonly failure?: ReplicaSetCondition;
}

/** Annotations that the controller maintains. */
export interface DeploymentNames {
  readonly revision: string;
  readonly revisionHistory: string;
  /** On a ReplicaSet: desired pods of the Deployment when the ReplicaSet was last scaled. */
  readonly desired: string;
  /** On a ReplicaSet: maximum pods of the Deployment at that time. */
  readonly max: string;
  /** Annotations of a Deployment that are not copied to its ReplicaSets. */
  readonly notCopied: ReadonlySet<string>;
}

export function deploymentNames({ domain }: Pick<Vocabulary, 'domain'>): DeploymentNames {
  const [revision, revisionHistory, desired, max] = [
    `deployment.${domain}/revision`,
    `deployment.${domain}/revision-history`,
    `deployment.${domain}/desired-replicas`,
    `deployment.${domain}/max-replicas`,
  ];
  const applied = CLIENT_SIDE_APPLY.map(({ annotation }) => annotation);
  const rollback = 'deprecated.deployment.rollback.to';
  return {
    revision,
    revisionHistory,
    desired,
    max,
    notCopied: new Set([revision, revisionHistory, desired, max, rollback, ...applied]),
  };
}

/** Resolved limits of a rolling update. If both are 0, one pod may be unavailable. */
export function resolveLimits(
  maxSurge: number | string | undefined,
  maxUnavailable: number | string | undefined,
  replicas: number,
): { readonly maxSurge: number; readonly maxUnavailable: number } {
  const surge = resolveAmount(maxSurge ?? 0, replicas, 'up') ?? 0;
  const unavailable = resolveAmount(maxUnavailable ?? 0, replicas, 'down') ?? 0;
  return { maxSurge: surge, maxUnavailable: surge === 0 && unavailable === 0 ? 1 : unavailable };
}

const limit = (value: number | undefined): number | undefined => (value === NO_LIMIT ? undefined : value);

export function deploymentFacts({ metadata = {}, spec, status = {} }: Deployment): DeploymentFacts {
  const replicas = spec?.replicas ?? 0;
  const recreate = spec?.strategy?.type === 'Recreate';
  const { maxSurge, maxUnavailable } = spec?.strategy?.rollingUpdate ?? {};
  const limits = recreate
    ? { maxSurge: 0, maxUnavailable: 0 }
    : resolveLimits(maxSurge, maxUnavailable, replicas);
  const deadline = limit(spec?.progressDeadlineSeconds);
  const history = limit(spec?.revisionHistoryLimit);
  return {
    name: metadata.name ?? '',
    namespace: metadata.namespace ?? '',
    generation: metadata.generation ?? 0,
    annotations: metadata.annotations ?? {},
    deleting: metadata.deletionTimestamp !== undefined,
    replicas,
    recreate,
    maxSurge: limits.maxSurge,
    maxUnavailable: Math.min(limits.maxUnavailable, replicas),
    selector: spec?.selector ?? {},
    template: spec?.template ?? {},
    minReadySeconds: spec?.minReadySeconds ?? 0,
    paused: spec?.paused === true,
    ...(deadline === undefined ? {} : { progressDeadlineMs: deadline * 1000 }),
    ...(history === undefined ? {} : { revisionHistoryLimit: history }),
    status,
  };
}

export function replicaSetFacts({ metadata = {}, spec, status }: ReplicaSet): ReplicaSetFacts {
  const failure = status?.conditions?.find(({ type }) => type === 'ReplicaFailure');
  return {
    name: metadata.name ?? '',
    uid: metadata.uid ?? '',
    createdMs: metadata.creationTimestamp === undefined ? 0 : parseTime(metadata.creationTimestamp),
    deleting: metadata.deletionTimestamp !== undefined,
    annotations: metadata.annotations ?? {},
    replicas: spec?.replicas ?? 0,
    minReadySeconds: spec?.minReadySeconds ?? 0,
    template: spec?.template ?? {},
    selector: spec?.selector ?? {},
    observed: (status?.observedGeneration ?? 0) >= (metadata.generation ?? 0),
    actual: status?.replicas ?? 0,
    ready: status?.readyReplicas ?? 0,
    available: status?.availableReplicas ?? 0,
    ...(failure === undefined ? {} : { failure }),
  };
}

function withoutHash({ metadata, ...rest }: PodTemplateSpec): PodTemplateSpec {
  const { labels = {}, ...others } = metadata ?? {};
  const { [HASH_LABEL]: _, ...left } = labels;
  return { ...rest, metadata: { ...others, labels: left } };
}

/** Whether two templates are equal except for the revision label. */
export const sameTemplate = (left: PodTemplateSpec, right: PodTemplateSpec): boolean =>
  sameForm(withoutHash(left), withoutHash(right));

export const sum = (
  sets: readonly ReplicaSetFacts[],
  member: 'replicas' | 'actual' | 'ready' | 'available',
): number => sets.reduce((total, set) => total + set[member], 0);

/** Oldest first. */
export const byAge = (left: ReplicaSetFacts, right: ReplicaSetFacts): number =>
  left.createdMs - right.createdMs || (left.name < right.name ? -1 : Number(left.name > right.name));

export const isActiveSet = ({ replicas }: ReplicaSetFacts): boolean => replicas > 0;

/** A scaled ReplicaSet, annotated with the sizes that it was scaled by. */
export function scaledTo(
  set: ReplicaSetFacts,
  replicas: number,
  { replicas: desired, maxSurge }: DeploymentFacts,
  names: DeploymentNames,
): ReplicaSetFacts {
  const annotations = {
    ...set.annotations,
    [names.desired]: String(desired),
    [names.max]: String(desired + maxSurge),
  };
  return { ...set, replicas, annotations };
}

/** Nothing changes if the size stays. */
export const resized = (
  set: ReplicaSetFacts,
  replicas: number,
  deployment: DeploymentFacts,
  names: DeploymentNames,
): ReplicaSetFacts => (set.replicas === replicas ? set : scaledTo(set, replicas, deployment, names));
