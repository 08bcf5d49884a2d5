/** Counts for the spread of pods. Pure. */
import { matchesLabels, type Requirement } from '#api/meta/selectors.ts';
import type { FleetView } from './fleet.ts';
import type { NodeInfo } from './model.ts';

/** How many pods of the namespace match, by node. Those that are on their way out don't count. */
export function matchingPods(
  { groups }: FleetView,
  namespace: string,
  selector: readonly Requirement[] | undefined,
): ReadonlyMap<NodeInfo, number> {
  const counts = new Map<NodeInfo, number>();
  if (selector === undefined) return counts;
  for (const { shape, living } of groups) {
    if (shape.namespace !== namespace || !matchesLabels(selector, shape.labels)) continue;
    for (const [node, count] of living) counts.set(node, (counts.get(node) ?? 0) + count);
  }
  return counts;
}
