/** Score: preferred affinity between pods, of this pod and of existing ones; required affinity of existing
 *  pods adds a small weight. Source: upstream's inter-pod affinity, release 1.24. */
import type { FleetView } from '../fleet/fleet.ts';
import type { PodInfo } from '../fleet/model.ts';
import type { PodGroup } from '../fleet/pod-groups.ts';
import { eachNode, isAbout, PlaceCounts } from '../fleet/pod-terms.ts';
import { MAX_SCORE, type Scorer } from './score.ts';

const WEIGHT_OF_REQUIRED = 1;

function addPlaces(counts: PlaceCounts, group: PodGroup, topologyKey: string, weight: number): void {
  eachNode(group, (node, count) => counts.add(topologyKey, node, weight * count));
}

function measure(pod: PodInfo, fleet: FleetView): PlaceCounts {
  const counts = new PlaceCounts();
  const { namespaceLabels } = fleet;
  const { preferredPodTerms: own } = pod.shape;
  for (const group of own.length === 0 ? [] : fleet.groups) {
    for (const { weight, term } of own) {
      if (isAbout(term, group.shape, namespaceLabels)) addPlaces(counts, group, term.topologyKey, weight);
    }
  }
  for (const group of fleet.groupsWithPodTerms) {
    for (const { weight, term } of group.shape.preferredPodTerms) {
      if (isAbout(term, pod.shape, namespaceLabels)) addPlaces(counts, group, term.topologyKey, weight);
    }
    for (const term of group.shape.requiredAffinity) {
      if (isAbout(term, pod.shape, namespaceLabels)) {
        addPlaces(counts, group, term.topologyKey, WEIGHT_OF_REQUIRED);
      }
    }
  }
  return counts;
}

export const preferredPods: Scorer = {
  name: 'InterPodAffinity',
  weight: 2,
  score(pod, nodes, fleet) {
    const counts = measure(pod, fleet);
    if (counts.isEmpty) return undefined;
    const sums = nodes.map((node) => counts.total(node));
    let [least, most] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
    for (const sum of sums) {
      least = Math.min(least, sum);
      most = Math.max(most, sum);
    }
    if (most <= least) return undefined;
    return sums.map((sum) => Math.trunc((MAX_SCORE * (sum - least)) / (most - least)));
  },
};
