/** A Deployment and its ReplicaSets as decisions see them. Pure. */
import { resolveAmount } from '#api/meta/int-or-string.ts';
import { parseTime } from '#api/meta/time.ts';
import type {
  Deployment,
  DeploymentStatus,
  ReplicaSet,
  ReplicaSetCondition,
} from '#api/schema/gen/apps-v1.ts';
import type { PodTemplateSpec } from '#api/schema/gen/core-v1.ts';
import type { LabelSelector } from '#api/schema/gen/meta-v1.ts';
import { CLIENT_SIDE_APPLY, type Vocabulary } from '#api/vocabulary.ts';
import { sameTemplate as sameForm } from '../workloads-kit/template-form.ts';

type Texts = Readonly<Record<string, string>>;

/** Label by which the pods of one version of the template are told from those of another. */
export const HASH_LABEL = 'pod-template-hash';

/** Limits that are not meant as such. */
const NO_LIMIT = 2 ** 31 - 1;

export interface DeploymentFacts {
  readonly name: string;
  readonly namespace: string;
  readonly generation: number;
  readonly annotations: Texts;
  readonly deleting: boolean;
  readonly replicas: number;
  readonly recreate: boolean;
  /** Pods beyond and below the number wanted that an update may cause; of them never both are 0. */
  readonly maxSurge: number;
  readonly maxUnavailable: number;
  readonly selector: LabelSelector;
  readonly template: PodTemplateSpec;
  readonly minReadySeconds: number;
  readonly paused: boolean;
  /** Absent: nothing is said of progress. */
  readonly progressDeadlineMs?: number;
  /** Absent: all old ReplicaSets are kept. */
  readonly revisionHistoryLimit?: number;
  readonly status: DeploymentStatus;
}

export interface ReplicaSetFacts {
  readonly name: string;
  /** Empty: it is still to be made. */
  readonly uid: string;
  readonly createdMs: number;
  readonly deleting: boolean;
  readonly annotations: Texts;
  readonly replicas: number;
  readonly minReadySeconds: number;
  readonly template: PodTemplateSpec;
  readonly selector: LabelSelector;
  /** The controller has seen its last change. */
  readonly observed: boolean;
  /** Pods that there are. */
  readonly actual: number;
  readonly ready: number;
  readonly available: number;
  readonly failure?: ReplicaSetCondition;
}

/** Annotations that the controller keeps. */
export interface Words {
  readonly revision: string;
  readonly revisionHistory: string;
  /** On a ReplicaSet: pods that the Deployment wanted when the ReplicaSet was last scaled. */
  readonly desired: string;
  /** On a ReplicaSet: pods that the Deployment might have had at most then. */
  readonly max: string;
  /** Of a Deployment's annotations those that its ReplicaSets don't get. */
  readonly notCopied: ReadonlySet<string>;
}

export function deploymentWords({ domain }: Pick<Vocabulary, 'domain'>): Words {
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

/** What the two limits of a rolling update come to. Where both would be 0, one pod may be missing. */
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

/** Whether two templates are the same, apart from the label that tells versions apart. */
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

/** A ReplicaSet scaled by its Deployment, which notes by what it went. */
export function scaledTo(
  set: ReplicaSetFacts,
  replicas: number,
  { replicas: desired, maxSurge }: DeploymentFacts,
  words: Words,
): ReplicaSetFacts {
  const annotations = {
    ...set.annotations,
    [words.desired]: String(desired),
    [words.max]: String(desired + maxSurge),
  };
  return { ...set, replicas, annotations };
}

/** Nothing changes if the size stays. */
export const resized = (
  set: ReplicaSetFacts,
  replicas: number,
  deployment: DeploymentFacts,
  words: Words,
): ReplicaSetFacts => (set.replicas === replicas ? set : scaledTo(set, replicas, deployment, words));
