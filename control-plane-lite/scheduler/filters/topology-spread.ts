/** Filter: required topology spread constraints. Source: upstream's pod topology spread, release 1.24. */
import { matchesLabels } from '#api/meta/selectors.ts';
import type { FleetView } from '../fleet/fleet.ts';
import type { NodeInfo, PodInfo, SpreadConstraint } from '../fleet/model.ts';
import { wantsNode } from '../fleet/node-terms.ts';
import { matchingPods } from '../spread.ts';
import { check, type Filter, lasting, resolvable } from './filter.ts';

const UNEVEN = resolvable("node(s) didn't match pod topology spread constraints");
const NO_LABEL = lasting("node(s) didn't match pod topology spread constraints (missing required label)");

interface Spread {
  readonly topologyKey: string;
  /** Maximum number of matching pods in a domain before this pod is added. */
  readonly most: number;
  readonly counts: ReadonlyMap<string, number>;
}

/** Counts only nodes that the pod's own constraints allow. */
function measure(
  pod: PodInfo,
  { topologyKey, selector, maxSkew, minDomains }: SpreadConstraint,
  eligible: readonly NodeInfo[],
  fleet: FleetView,
): Spread {
  const matching = matchingPods(fleet, pod.shape.namespace, selector);
  const counts = new Map<string, number>();
  for (const node of eligible) {
    const place = node.labels[topologyKey] ?? '';
    counts.set(place, (counts.get(place) ?? 0) + (matching.get(node) ?? 0));
  }
  let least = Number.POSITIVE_INFINITY;
  for (const count of counts.values()) least = Math.min(least, count);
  const isGated = fleet.gates.has('MinDomainsInPodTopologySpread');
  if (isGated && counts.size < minDomains) least = 0;
  const own = selector !== undefined && matchesLabels(selector, pod.shape.labels) ? 1 : 0;
  return { topologyKey, counts, most: maxSkew - own + least };
}

export const topologySpread: Filter = {
  name: 'PodTopologySpread',
  wokenBy: ['podGone', 'podCame', 'nodeAdded', 'nodeLabels'],
  looksAround: true,
  prepare(pod, fleet) {
    const { hardSpread } = pod.shape;
    if (hardSpread.length === 0) return undefined;
    const hasLabels = (node: NodeInfo): boolean =>
      hardSpread.every(({ topologyKey }) => node.labels[topologyKey] !== undefined);
    const eligible = fleet.nodes.filter((node) => hasLabels(node) && wantsNode(pod.shape, node));
    const spreads = hardSpread.map((constraint) => measure(pod, constraint, eligible, fleet));
    return check((node) => {
      for (const { topologyKey, counts, most } of spreads) {
        const place = node.labels[topologyKey];
        if (place === undefined) return NO_LABEL;
        if ((counts.get(place) ?? 0) > most) return UNEVEN;
      }
      return undefined;
    });
  },
};
