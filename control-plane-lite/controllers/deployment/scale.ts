/** Scaling apart from updates: scales the ReplicaSets of a Deployment proportionally while it is paused, or
 *  when its replicas change during an update. Pure. Source: upstream's Deployment controller, release
 *  1.24. */
import {
  byAge,
  type DeploymentFacts,
  type DeploymentNames,
  isActiveSet,
  type ReplicaSetFacts,
  resized,
  scaledTo,
  sum,
} from './model.ts';
import { allOf, type Sets } from './revisions.ts';

const numberOf = (text: string | undefined): number | undefined =>
  text !== undefined && /^\d{1,10}$/.test(text) ? Number(text) : undefined;

/** Whether the number of pods was changed since the ReplicaSets were last scaled. */
export const isScaling = (deployment: DeploymentFacts, sets: Sets, names: DeploymentNames): boolean =>
  allOf(sets)
    .filter(isActiveSet)
    .some(({ annotations }) => {
      const desired = numberOf(annotations[names.desired]);
      return desired !== undefined && desired !== deployment.replicas;
    });

/** The only set with pods; if none has any, the current or newest one. */
function onlyActive(sets: Sets): ReplicaSetFacts | undefined {
  const active = allOf(sets).filter(isActiveSet);
  if (active.length > 1) return undefined;
  return active[0] ?? sets.current ?? sets.old.at(-1);
}

function isSaturated(
  deployment: DeploymentFacts,
  set: ReplicaSetFacts | undefined,
  names: DeploymentNames,
): boolean {
  const { replicas } = deployment;
  return (
    set?.replicas === replicas &&
    numberOf(set.annotations[names.desired]) === replicas &&
    set.available === replicas
  );
}

/** Number of pods that a ReplicaSet gains or loses to retain its share. */
function shareChange(set: ReplicaSetFacts, deployment: DeploymentFacts, names: DeploymentNames): number {
  if (deployment.replicas === 0) return -set.replicas;
  const before = numberOf(set.annotations[names.max]) ?? deployment.status.replicas ?? 0;
  if (before === 0) return 0;
  return Math.round((set.replicas * (deployment.replicas + deployment.maxSurge)) / before) - set.replicas;
}

/** The largest first; of those as large, the newest when growing and the oldest when shrinking. */
const bySize =
  (growing: boolean) =>
  (left: ReplicaSetFacts, right: ReplicaSetFacts): number =>
    right.replicas - left.replicas || (growing ? byAge(right, left) : byAge(left, right));

function proportional(
  deployment: DeploymentFacts,
  sets: Sets,
  names: DeploymentNames,
): ReadonlyMap<string, number> {
  const active = allOf(sets).filter(isActiveSet);
  const allowed = deployment.replicas > 0 ? deployment.replicas + deployment.maxSurge : 0;
  const change = allowed - sum(active, 'replicas');
  const sorted = active.toSorted(bySize(change > 0));
  const sizes = new Map<string, number>();
  let left = change;
  for (const set of sorted) {
    const share = left === 0 ? 0 : shareChange(set, deployment, names);
    const taken = change > 0 ? Math.min(share, left) : Math.max(share, left);
    sizes.set(set.name, set.replicas + taken);
    left -= taken;
  }
  const [largest] = sorted;
  // The rounding remainder goes to the largest.
  if (largest !== undefined) {
    sizes.set(largest.name, Math.max(0, (sizes.get(largest.name) ?? 0) + left));
  }
  return sizes;
}

const mapSets = (
  { current, old }: Sets,
  change: (set: ReplicaSetFacts, isCurrent: boolean) => ReplicaSetFacts,
): Sets => ({
  old: old.map((set) => change(set, false)),
  ...(current === undefined ? {} : { current: change(current, true) }),
});

/** The sets with their proportional sizes when only the number of pods has changed. */
export function decideScale(deployment: DeploymentFacts, sets: Sets, names: DeploymentNames): Sets {
  const { replicas } = deployment;
  const only = onlyActive(sets);
  if (only !== undefined) {
    if (only.replicas === 0 && replicas === 0) return sets;
    return mapSets(sets, (set) => (set === only ? scaledTo(set, replicas, deployment, names) : set));
  }
  if (isSaturated(deployment, sets.current, names)) {
    return mapSets(sets, (set, isCurrent) => (isCurrent ? set : resized(set, 0, deployment, names)));
  }
  if (deployment.recreate) return sets;
  const sizes = proportional(deployment, sets, names);
  return mapSets(sets, (set) => {
    const size = sizes.get(set.name);
    return size === undefined ? set : scaledTo(set, size, deployment, names);
  });
}
