/** Counts for topology spread. Pure. */
import { matchesLabels, type Requirement } from '#api/meta/selectors.ts';
import type { FleetView } from './fleet/fleet.ts';
import type { NodeInfo } from './fleet/model.ts';

const NONE: ReadonlyMap<NodeInfo, number> = new Map();

/** Counts matching pods of the namespace by node, without terminating ones. */
export function matchingPods(
  { groups }: FleetView,
  namespace: string,
  selector: readonly Requirement[] | undefined,
): ReadonlyMap<NodeInfo, number> {
  if (selector === undefined) return NONE;
  let only: ReadonlyMap<NodeInfo, number> | undefined;
  let counts: Map<NodeInfo, number> | undefined;
  for (const { shape, living } of groups) {
    if (shape.namespace !== namespace || !matchesLabels(selector, shape.labels)) continue;
    if (only === undefined) {
      only = living;
      continue;
    }
    // Most often all pods that match are of one shape.
    counts ??= new Map(only);
    for (const [node, count] of living) counts.set(node, (counts.get(node) ?? 0) + count);
  }
  return counts ?? only ?? NONE;
}
