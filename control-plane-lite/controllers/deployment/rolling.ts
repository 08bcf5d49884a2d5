/** One step of a rolling update: scales up the current ReplicaSet within maxSurge; otherwise scales down old
 *  ones within maxUnavailable. Pure. Source: upstream's Deployment controller, release 1.24. */
import {
  byAge,
  type DeploymentFacts,
  type DeploymentNames,
  type ReplicaSetFacts,
  resized,
  sum,
} from './model.ts';
import { allOf, currentReplicas, type Sets } from './revisions.ts';

/** Removes up to `most` pods; `removable` returns how many a ReplicaSet can lose. */
function shrink(
  old: readonly ReplicaSetFacts[],
  most: number,
  removable: (set: ReplicaSetFacts) => number,
): ReadonlyMap<string, number> {
  const sizes = new Map<string, number>();
  let left = most;
  for (const set of old.toSorted(byAge)) {
    const taken = Math.min(Math.max(0, left), removable(set));
    sizes.set(set.name, set.replicas - taken);
    left -= taken;
  }
  return sizes;
}

function resizeOld(sets: Sets, sizes: ReadonlyMap<string, number>, step: Step): Sets {
  const old = sets.old.map((set) =>
    resized(set, sizes.get(set.name) ?? set.replicas, step.deployment, step.names),
  );
  return { ...sets, old };
}

interface Step {
  readonly deployment: DeploymentFacts;
  readonly names: DeploymentNames;
}

/** Available pods that stay. A ReplicaSet that was scaled down a moment ago may still count pods that are
 *  being deleted. Deviation: upstream counts them, and so may remove too many. */
const availableOf = (sets: readonly ReplicaSetFacts[]): number =>
  sets.reduce((total, { available, replicas }) => total + Math.min(available, replicas), 0);

function shrinkOld(sets: Sets, step: Step): Sets {
  const { replicas, maxUnavailable } = step.deployment;
  const { current } = sets;
  const minAvailable = replicas - maxUnavailable;
  const notYet = current === undefined ? 0 : current.replicas - current.available;
  const most = sum(allOf(sets), 'replicas') - minAvailable - notYet;
  if (most <= 0) return sets;
  // Unavailable pods are removed first, whatever their age.
  const unhealthy = shrink(sets.old, most, ({ replicas: size, available }) => Math.max(0, size - available));
  const healthy = resizeOld(sets, unhealthy, step);
  const left = most - (sum(sets.old, 'replicas') - sum(healthy.old, 'replicas'));
  const spare = Math.min(left, availableOf(allOf(healthy)) - minAvailable);
  if (spare <= 0) return healthy;
  return resizeOld(
    healthy,
    shrink(healthy.old, spare, ({ replicas: size }) => size),
    step,
  );
}

/** The sets after one step. */
export function decideRolling(deployment: DeploymentFacts, sets: Sets, names: DeploymentNames): Sets {
  const step = { deployment, names };
  const { current } = sets;
  if (current !== undefined && current.replicas !== deployment.replicas) {
    const wanted =
      current.replicas > deployment.replicas ? deployment.replicas : currentReplicas(deployment, sets);
    if (wanted !== current.replicas) return { ...sets, current: resized(current, wanted, deployment, names) };
  }
  return sum(sets.old, 'replicas') === 0 ? sets : shrinkOld(sets, step);
}

/** The sets after one step of a Recreate update, in which the old pods terminate before new ones are created.
 *  `oldPods`: unfinished pods of old ReplicaSets. */
export function decideRecreate(
  deployment: DeploymentFacts,
  sets: Sets,
  oldPods: boolean,
  { names, create }: { readonly names: DeploymentNames; readonly create: () => ReplicaSetFacts },
): Sets {
  if (sets.old.some(({ replicas }) => replicas > 0)) {
    return { ...sets, old: sets.old.map((set) => resized(set, 0, deployment, names)) };
  }
  if (oldPods || sum(sets.old, 'actual') > 0) return sets;
  const current = sets.current ?? create();
  return { ...sets, current: resized(current, deployment.replicas, deployment, names) };
}
