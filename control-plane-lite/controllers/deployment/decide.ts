/** Decisions of the Deployment controller: one step from the current state. Pure. Source: upstream's
 *  Deployment controller, release 1.24.
 *
 *    paused, or the number of pods was changed ── decideScale ─┐
 *    Recreate ── decideRecreate ───────────────────────────────┼── status, and old ReplicaSets that may go
 *    RollingUpdate ── decideRolling ───────────────────────────┘ */
import type { DeploymentStatus } from '#api/gen/apps-v1.ts';
import type { DeploymentFacts, DeploymentNames, ReplicaSetFacts } from './model.ts';
import {
  currentConditions,
  decideProgress,
  deploymentStatus,
  isComplete,
  pausedConditions,
} from './progress.ts';
import { newCurrent, outdatedSets, refreshCurrent, type Sets, sortSets } from './revisions.ts';
import { decideRecreate, decideRolling } from './rolling.ts';
import { decideScale, isScaling } from './scale.ts';

export interface DeploymentPlan {
  /** Desired ReplicaSets; one without a uid is to be created. */
  readonly sets: Sets;
  readonly remove: readonly ReplicaSetFacts[];
  /** Value of the Deployment's annotation; absent: unchanged. */
  readonly revision?: string;
  readonly status: DeploymentStatus;
  /** Time until the next reconciliation without any change, in ms. */
  readonly recheckMs?: number;
}

export interface DeploymentInput {
  readonly deployment: DeploymentFacts;
  /** ReplicaSets that the Deployment controls. */
  readonly sets: readonly ReplicaSetFacts[];
  /** Whether the ReplicaSets of these uids have pods that have not finished. */
  readonly havePods: (uids: readonly string[]) => boolean;
  readonly names: DeploymentNames;
  readonly nowMs: number;
}

/** Whether this reconciliation only scales the ReplicaSets. */
function followsNumber({ deployment, names }: DeploymentInput, sets: Sets): boolean {
  return deployment.paused || isScaling(deployment, sets, names);
}

function step(input: DeploymentInput, sets: Sets): Sets {
  const { deployment, names } = input;
  const create = (): ReplicaSetFacts => newCurrent(deployment, sets, names);
  if (deployment.recreate) {
    const oldPods = input.havePods(sets.old.map(({ uid }) => uid));
    return decideRecreate(deployment, sets, oldPods, { names, create });
  }
  return decideRolling(deployment, { ...sets, current: sets.current ?? create() }, names);
}

export function decideDeployment(input: DeploymentInput): DeploymentPlan {
  const { deployment, names, nowMs } = input;
  const found = refreshCurrent(deployment, sortSets(deployment, input.sets), names);
  const before = pausedConditions(deployment, deployment.status.conditions ?? [], nowMs);
  if (deployment.deleting) {
    const sets = sortSets(deployment, input.sets);
    return { sets, remove: [], status: deploymentStatus(deployment, sets, before, nowMs) };
  }
  const scaling = followsNumber(input, found);
  const sets = scaling ? decideScale(deployment, found, names) : step(input, found);
  const { current } = sets;
  const conditions = current === undefined ? before : currentConditions(deployment, before, current, nowMs);
  const progress = scaling
    ? { status: deploymentStatus(deployment, sets, conditions, nowMs) }
    : decideProgress(deployment, sets, conditions, nowMs);
  const tidy = deployment.paused || (!scaling && isComplete(deployment, deployment.status));
  const revision = current?.annotations[names.revision];
  return {
    sets,
    remove: tidy ? outdatedSets(deployment, sets, names) : [],
    ...(revision === undefined || revision === deployment.annotations[names.revision] ? {} : { revision }),
    ...progress,
  };
}
