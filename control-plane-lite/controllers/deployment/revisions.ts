/** Revisions of a Deployment: the ReplicaSet of the current template, the older ones, and the revision
 *  numbers. Pure. Source: upstream's Deployment controller, release 1.24. */

import { MAX_INT64, parseInt64 } from '#api/kit/int64.ts';
import { canonicalTemplate } from '../workloads-kit/template-form.ts';
import { hashWord } from '../workloads-kit/template-hash.ts';
import {
  byAge,
  type DeploymentFacts,
  type DeploymentNames,
  HASH_LABEL,
  type ReplicaSetFacts,
  sameTemplate,
  scaledTo,
  sum,
} from './model.ts';

export interface Sets {
  /** The one with the current template. */
  readonly current?: ReplicaSetFacts;
  /** All others, oldest first. */
  readonly old: readonly ReplicaSetFacts[];
}

export const allOf = ({ current, old }: Sets): readonly ReplicaSetFacts[] =>
  current === undefined ? old : [...old, current];

const HISTORY_CHARS = 2000;

/** Text that is not a 64-bit number counts as 0. */
const revisionOf = ({ annotations }: ReplicaSetFacts, { revision }: DeploymentNames): bigint =>
  parseInt64(annotations[revision] ?? '') ?? 0n;

/** Lowest revision first. */
export const byRevision =
  (names: DeploymentNames) =>
  (left: ReplicaSetFacts, right: ReplicaSetFacts): number => {
    const [a, b] = [revisionOf(left, names), revisionOf(right, names)];
    return a === b ? byAge(left, right) : a < b ? -1 : 1;
  };

/** The oldest of those with the current template is the current one. */
export function sortSets(deployment: DeploymentFacts, sets: readonly ReplicaSetFacts[]): Sets {
  const sorted = sets.toSorted(byAge);
  const current = sorted.find(({ template }) => sameTemplate(template, deployment.template));
  const old = sorted.filter((set) => set !== current);
  return current === undefined ? { old } : { current, old };
}

/** The history with one more revision; the oldest are dropped when it gets long. */
function withRevision(history: string, revision: string): string {
  const known = [...(history === '' ? [] : history.split(',')), revision];
  while (known.join(',').length > HISTORY_CHARS) known.shift();
  return known.join(',');
}

/** One more than the highest of the others, saturating at the maximum. */
function nextRevision({ old }: Sets, names: DeploymentNames): bigint {
  const highest = old.reduce((max, set) => {
    const revision = revisionOf(set, names);
    return revision > max ? revision : max;
  }, 0n);
  return highest === MAX_INT64 ? highest : highest + 1n;
}

/** Annotations of the current ReplicaSet: those of its Deployment, its revision, and those that it had before. */
function currentAnnotations(
  { annotations }: DeploymentFacts,
  set: ReplicaSetFacts,
  revision: bigint,
  names: DeploymentNames,
): Readonly<Record<string, string>> {
  const copied = Object.entries(annotations).filter(([name]) => !names.notCopied.has(name));
  const next: Record<string, string> = { ...set.annotations, ...Object.fromEntries(copied) };
  const before = set.annotations[names.revision];
  if (revisionOf(set, names) >= revision) return next;
  next[names.revision] = String(revision);
  if (before !== undefined) {
    next[names.revisionHistory] = withRevision(set.annotations[names.revisionHistory] ?? '', before);
  }
  return next;
}

/** The sets with the annotations of the current one updated. */
export function refreshCurrent(deployment: DeploymentFacts, sets: Sets, names: DeploymentNames): Sets {
  const { current, old } = sets;
  if (current === undefined) return sets;
  const annotations = currentAnnotations(deployment, current, nextRevision(sets, names), names);
  return { old, current: { ...current, annotations, minReadySeconds: deployment.minReadySeconds } };
}

/** Maximum size of the current ReplicaSet for now. */
export function currentReplicas(deployment: DeploymentFacts, sets: Sets): number {
  const { replicas, recreate, maxSurge } = deployment;
  if (recreate) return replicas;
  const own = sets.current?.replicas ?? 0;
  const room = replicas + maxSurge - sum(allOf(sets), 'replicas');
  return room <= 0 ? own : own + Math.min(room, replicas - own);
}

/** A new ReplicaSet for the current template, not yet created. */
export function newCurrent(deployment: DeploymentFacts, sets: Sets, names: DeploymentNames): ReplicaSetFacts {
  const { name, template, selector, minReadySeconds, status } = deployment;
  const hash = hashWord(canonicalTemplate(template), status.collisionCount);
  const metadata = {
    ...template.metadata,
    labels: { ...template.metadata?.labels, [HASH_LABEL]: hash },
  };
  const bare: ReplicaSetFacts = {
    name: `${name}-${hash}`,
    uid: '',
    createdMs: Number.POSITIVE_INFINITY,
    deleting: false,
    annotations: {},
    replicas: 0,
    minReadySeconds,
    template: { ...template, metadata },
    selector: { ...selector, matchLabels: { ...selector.matchLabels, [HASH_LABEL]: hash } },
    observed: false,
    actual: 0,
    ready: 0,
    available: 0,
  };
  const annotations = currentAnnotations(deployment, bare, nextRevision(sets, names), names);
  return scaledTo({ ...bare, annotations }, currentReplicas(deployment, sets), deployment, names);
}

/** Old ReplicaSets to delete: beyond the history limit, without pods, lowest revisions first. */
export function outdatedSets(
  { revisionHistoryLimit }: DeploymentFacts,
  { old }: Sets,
  names: DeploymentNames,
): readonly ReplicaSetFacts[] {
  if (revisionHistoryLimit === undefined) return [];
  const alive = old.filter(({ deleting }) => !deleting).toSorted(byRevision(names));
  return alive
    .slice(0, Math.max(0, alive.length - revisionHistoryLimit))
    .filter(({ actual, replicas, observed }) => actual === 0 && replicas === 0 && observed);
}
