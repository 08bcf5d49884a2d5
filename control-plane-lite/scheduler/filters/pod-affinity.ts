/** Filter: required affinity and anti-affinity between pods; anti-affinity applies in both directions.
 *  Source: upstream's inter-pod affinity, release 1.24. */
import type { FleetView } from '../fleet/fleet.ts';
import type { NodeInfo, PodInfo, PodTerm } from '../fleet/model.ts';
import { eachNode, isAbout, PlaceCounts } from '../fleet/pod-terms.ts';
import { check, type Filter, lasting, resolvable } from './filter.ts';

const NO_AFFINITY = lasting("node(s) didn't match pod affinity rules");
const ANTI_AFFINITY = resolvable("node(s) didn't match pod anti-affinity rules");
const OTHERS = resolvable("node(s) didn't satisfy existing pods anti-affinity rules");

/** Topology domains of pods whose anti-affinity rejects this pod. */
function keptAwayFrom(pod: PodInfo, fleet: FleetView): PlaceCounts {
  const counts = new PlaceCounts();
  for (const group of fleet.groupsWithPodTerms) {
    for (const term of group.shape.requiredAntiAffinity) {
      if (!isAbout(term, pod.shape, fleet.namespaceLabels)) continue;
      eachNode(group, (node, count) => counts.add(term.topologyKey, node, count));
    }
  }
  return counts;
}

/** Topology domains of pods that match the terms. `all`: pods must match every term. */
function placesOf(terms: readonly PodTerm[], fleet: FleetView, all: boolean): PlaceCounts {
  const counts = new PlaceCounts();
  if (terms.length === 0) return counts;
  for (const group of fleet.groups) {
    const about = terms.filter((term) => isAbout(term, group.shape, fleet.namespaceLabels));
    if (about.length === 0 || (all && about.length < terms.length)) continue;
    for (const { topologyKey } of about) {
      eachNode(group, (node, count) => counts.add(topologyKey, node, count));
    }
  }
  return counts;
}

export const podAffinity: Filter = {
  name: 'InterPodAffinity',
  wokenBy: ['podGone', 'podCame', 'nodeAdded', 'nodeLabels'],
  looksAround: true,
  prepare(pod, fleet) {
    const { requiredAffinity: near, requiredAntiAffinity: apart } = pod.shape;
    const away = keptAwayFrom(pod, fleet);
    if (near.length + apart.length === 0 && away.isEmpty) return undefined;
    const friends = placesOf(near, fleet, true);
    const foes = placesOf(apart, fleet, false);
    // The first pod of a group has only itself to be near to.
    const isFirst = friends.isEmpty && near.every((term) => isAbout(term, pod.shape, fleet.namespaceLabels));
    const isNear = (node: NodeInfo): boolean =>
      near.every(
        ({ topologyKey }) =>
          node.labels[topologyKey] !== undefined && (isFirst || friends.at(topologyKey, node) > 0),
      );
    return check((node) => {
      if (!isNear(node)) return NO_AFFINITY;
      if (apart.some(({ topologyKey }) => foes.at(topologyKey, node) > 0)) return ANTI_AFFINITY;
      return away.total(node) > 0 ? OTHERS : undefined;
    });
  },
};
