/** Status of a Deployment: counts, the Available condition, and the Progressing condition. Pure. Source:
 *  upstream's Deployment controller, release 1.24. */

import type { DeploymentCondition, DeploymentStatus } from '#api/gen/apps-v1.ts';
import type { Int64 } from '#api/kit/int64.ts';
import { formatTime, parseTime } from '#api/meta/time.ts';
import { findCondition, withCondition, withoutCondition } from '../workloads-kit/conditions.ts';
import { type DeploymentFacts, type ReplicaSetFacts, sum } from './model.ts';
import { allOf, type Sets } from './revisions.ts';

type Conditions = readonly DeploymentCondition[];

const PROGRESSING = 'Progressing';
const NEW_AVAILABLE = 'NewReplicaSetAvailable';
const TIMED_OUT = 'ProgressDeadlineExceeded';
const PAUSED = 'DeploymentPaused';

export interface Progress {
  readonly status: DeploymentStatus;
  /** Time until the deadline, in ms. */
  readonly recheckMs?: number;
}

interface Verdict {
  readonly type?: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
}

function condition({ type = PROGRESSING, ...verdict }: Verdict, nowMs: number): DeploymentCondition {
  const now = formatTime(nowMs);
  return { type, ...verdict, lastUpdateTime: now, lastTransitionTime: now };
}

/** The conditions after a check of whether the Deployment is paused. */
export function pausedConditions(
  deployment: DeploymentFacts,
  conditions: Conditions,
  nowMs: number,
): Conditions {
  if (deployment.progressDeadlineMs === undefined) return conditions;
  const current = findCondition(conditions, PROGRESSING);
  if (current?.reason === TIMED_OUT) return conditions;
  const wasPaused = current?.reason === PAUSED;
  if (deployment.paused === wasPaused) return conditions;
  const verdict: Verdict = deployment.paused
    ? { status: 'Unknown', reason: PAUSED, message: 'Deployment is paused' }
    : { status: 'Unknown', reason: 'DeploymentResumed', message: 'Deployment is resumed' };
  return withCondition(conditions, condition(verdict, nowMs));
}

/** The conditions once the current ReplicaSet was created or found. */
export function currentConditions(
  deployment: DeploymentFacts,
  conditions: Conditions,
  current: ReplicaSetFacts,
  nowMs: number,
): Conditions {
  if (deployment.progressDeadlineMs === undefined) return conditions;
  const made = current.uid === '';
  if (!made && findCondition(conditions, PROGRESSING) !== undefined) return conditions;
  const verdict: Verdict = made
    ? {
        status: 'True',
        reason: 'NewReplicaSetCreated',
        message: `Created new replica set ${JSON.stringify(current.name)}`,
      }
    : {
        status: 'True',
        reason: 'FoundNewReplicaSet',
        message: `Found new replica set ${JSON.stringify(current.name)}`,
      };
  return withCondition(conditions, condition(verdict, nowMs));
}

/** The conditions when the current ReplicaSet could not be created. */
export const failedConditions = (
  deployment: DeploymentFacts,
  conditions: Conditions,
  message: string,
  nowMs: number,
): Conditions =>
  deployment.progressDeadlineMs === undefined
    ? conditions
    : withCondition(
        conditions,
        condition({ status: 'False', reason: 'ReplicaSetCreateError', message }, nowMs),
      );

const counted = <T extends Int64>(counts: Readonly<Record<string, T>>): Readonly<Record<string, T>> =>
  Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0));

function availability({ replicas, maxUnavailable }: DeploymentFacts, available: number): Verdict {
  return available >= replicas - maxUnavailable
    ? {
        type: 'Available',
        status: 'True',
        reason: 'MinimumReplicasAvailable',
        message: 'Deployment has minimum availability.',
      }
    : {
        type: 'Available',
        status: 'False',
        reason: 'MinimumReplicasUnavailable',
        message: 'Deployment does not have minimum availability.',
      };
}

/** The counts of the sets, and whether enough pods are available. */
export function deploymentStatus(
  deployment: DeploymentFacts,
  sets: Sets,
  conditions: Conditions,
  nowMs: number,
): DeploymentStatus {
  const all = allOf(sets);
  const available = sum(all, 'available');
  const { collisionCount } = deployment.status;
  return {
    ...counted({
      observedGeneration: deployment.generation,
      replicas: sum(all, 'actual'),
      updatedReplicas: sets.current?.actual ?? 0,
      readyReplicas: sum(all, 'ready'),
      availableReplicas: available,
      unavailableReplicas: Math.max(0, sum(all, 'replicas') - available),
    }),
    ...(collisionCount === undefined ? {} : { collisionCount }),
    conditions: withCondition(conditions, condition(availability(deployment, available), nowMs)),
  };
}

/** Whether all pods are of the current template and available, and nothing else is left. */
export const isComplete = ({ replicas, generation }: DeploymentFacts, status: DeploymentStatus): boolean =>
  (status.updatedReplicas ?? 0) === replicas &&
  (status.replicas ?? 0) === replicas &&
  (status.availableReplicas ?? 0) === replicas &&
  (status.observedGeneration ?? 0) >= generation;

function hasProgressed(before: DeploymentStatus, after: DeploymentStatus): boolean {
  const old = ({ replicas = 0, updatedReplicas = 0 }: DeploymentStatus): number => replicas - updatedReplicas;
  return (
    (after.updatedReplicas ?? 0) > (before.updatedReplicas ?? 0) ||
    old(after) < old(before) ||
    (after.readyReplicas ?? 0) > (before.readyReplicas ?? 0) ||
    (after.availableReplicas ?? 0) > (before.availableReplicas ?? 0)
  );
}

/** Deadline of the update, in Unix ms; `undefined`: none in the current state. */
function deadlineMs(
  { progressDeadlineMs }: DeploymentFacts,
  current: DeploymentCondition | undefined,
): number | undefined {
  if (progressDeadlineMs === undefined || current?.lastUpdateTime === undefined) return undefined;
  return current.reason === NEW_AVAILABLE
    ? undefined
    : parseTime(current.lastUpdateTime) + progressDeadlineMs;
}

/** The new Progressing condition of the update, if it changes. `subject`: the object that it is about. */
function judge(
  deployment: DeploymentFacts,
  next: DeploymentStatus,
  current: DeploymentCondition | undefined,
  { subject, nowMs }: { readonly subject: string; readonly nowMs: number },
): Verdict | undefined {
  if (isComplete(deployment, next)) {
    return { status: 'True', reason: NEW_AVAILABLE, message: `${subject} has successfully progressed.` };
  }
  if (hasProgressed(deployment.status, next)) {
    return { status: 'True', reason: 'ReplicaSetUpdated', message: `${subject} is progressing.` };
  }
  const atMs = deadlineMs(deployment, current);
  if (current?.reason === TIMED_OUT || (atMs !== undefined && atMs < nowMs)) {
    return { status: 'False', reason: TIMED_OUT, message: `${subject} has timed out progressing.` };
  }
  return undefined;
}

/** Progress always has the time of the last step. */
function withProgress(conditions: Conditions, verdict: Verdict, nowMs: number): Conditions {
  const next = condition(verdict, nowMs);
  const current = findCondition(conditions, PROGRESSING);
  if (verdict.reason !== 'ReplicaSetUpdated' || current === undefined) return withCondition(conditions, next);
  const since =
    current.status === verdict.status && current.lastTransitionTime !== undefined
      ? { lastTransitionTime: current.lastTransitionTime }
      : {};
  return [...withoutCondition(conditions, PROGRESSING), { ...next, ...since }];
}

function withFailure(conditions: Conditions, sets: Sets): Conditions {
  const failure = sets.current?.failure ?? allOf(sets).find((set) => set.failure !== undefined)?.failure;
  if (failure === undefined) return withoutCondition(conditions, 'ReplicaFailure');
  const { lastTransitionTime } = failure;
  const since = lastTransitionTime === undefined ? {} : { lastUpdateTime: lastTransitionTime };
  return withCondition<DeploymentCondition>(conditions, { ...failure, ...since });
}

/** The status with the Progressing condition of the update. `conditions`: the current ones. */
export function decideProgress(
  deployment: DeploymentFacts,
  sets: Sets,
  conditions: Conditions,
  nowMs: number,
): Progress {
  const hasDeadline = deployment.progressDeadlineMs !== undefined;
  const kept = hasDeadline ? conditions : withoutCondition(conditions, PROGRESSING);
  const next = deploymentStatus(deployment, sets, kept, nowMs);
  const current = findCondition(kept, PROGRESSING);
  const settled = next.replicas === next.updatedReplicas && current?.reason === NEW_AVAILABLE;
  const { name } = deployment;
  const subject =
    sets.current === undefined
      ? `Deployment ${JSON.stringify(name)}`
      : `ReplicaSet ${JSON.stringify(sets.current.name)}`;
  const verdict = hasDeadline && !settled ? judge(deployment, next, current, { subject, nowMs }) : undefined;
  const judged =
    verdict === undefined ? (next.conditions ?? []) : withProgress(next.conditions ?? [], verdict, nowMs);
  const status = { ...next, conditions: withFailure(judged, sets) };
  const shown = findCondition(status.conditions, PROGRESSING);
  const atMs =
    isComplete(deployment, status) || shown?.reason === TIMED_OUT || deployment.paused
      ? undefined
      : deadlineMs(deployment, shown);
  // Times have whole seconds: a second later the deadline has passed for sure.
  return atMs === undefined ? { status } : { status, recheckMs: Math.max(0, atMs - nowMs) + 1000 };
}
