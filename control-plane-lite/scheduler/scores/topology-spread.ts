/** Score: preferred topology spread: the constraints of the pod or, without any, the pods of the same service
 *  or owner over nodes and zones. Source: upstream's pod topology spread, release 1.24. */
import type { FleetView } from '../fleet/fleet.ts';
import type { NodeInfo, PodInfo, SpreadConstraint } from '../fleet/model.ts';
import { wantsNode } from '../fleet/node-terms.ts';
import { matchingPods } from '../spread.ts';
import { MAX_SCORE, type Scorer } from './score.ts';

const HOST_SKEW = 3;
const ZONE_SKEW = 5;

interface Wanted {
  readonly constraints: readonly SpreadConstraint[];
  /** Nodes that lack one of the labels are the last choice. */
  readonly needsLabels: boolean;
}

function wantedBy({ shape }: PodInfo, fleet: FleetView): Wanted | undefined {
  if (shape.softSpread.length > 0) return { constraints: shape.softSpread, needsLabels: true };
  // Constraints of the pod, of either kind, replace the defaults.
  const selector = shape.hardSpread.length > 0 ? undefined : fleet.spreadSelector(shape);
  if (selector === undefined) return undefined;
  const [zone = ''] = fleet.labelKeys.zones;
  return {
    constraints: [
      { maxSkew: HOST_SKEW, topologyKey: fleet.labelKeys.hostname, minDomains: 1, selector },
      { maxSkew: ZONE_SKEW, topologyKey: zone, minDomains: 1, selector },
    ],
    needsLabels: false,
  };
}

/** Adds the score of one constraint to the sums of the eligible nodes. */
function addConstraint(
  sums: Float64Array,
  { maxSkew, topologyKey }: SpreadConstraint,
  matching: ReadonlyMap<NodeInfo, number>,
  {
    pod,
    nodes,
    counted,
    needed,
    fleet,
  }: {
    readonly pod: PodInfo;
    readonly nodes: readonly NodeInfo[];
    readonly counted: readonly boolean[];
    /** Labels of all nodes that pods are counted on. */
    readonly needed: readonly string[];
    readonly fleet: FleetView;
  },
): void {
  const isHost = topologyKey === fleet.labelKeys.hostname;
  const places = new Map<string, number>();
  let size = 0;
  for (const [index, node] of nodes.entries()) {
    const place = node.labels[topologyKey];
    if (counted[index] !== true) continue;
    size += isHost ? 1 : 0;
    if (place !== undefined) places.set(place, 0);
  }
  if (!isHost) size = places.size;
  for (const [node, count] of isHost ? [] : matching) {
    const place = node.labels[topologyKey];
    const before = place === undefined ? undefined : places.get(place);
    if (place === undefined || before === undefined) continue;
    if (needed.every((label) => node.labels[label] !== undefined) && wantsNode(pod.shape, node)) {
      places.set(place, before + count);
    }
  }
  const weight = Math.log(size + 2);
  for (const [index, node] of nodes.entries()) {
    const place = node.labels[topologyKey];
    if (counted[index] !== true || place === undefined) continue;
    const count = isHost ? (matching.get(node) ?? 0) : (places.get(place) ?? 0);
    sums[index] = (sums[index] ?? 0) + count * weight + (maxSkew - 1);
  }
}

/** Few pods are better. */
function invert(sums: Float64Array, counted: readonly boolean[]): readonly number[] {
  const rounded = Array.from(sums, Math.round);
  let [least, most] = [Number.POSITIVE_INFINITY, 0];
  for (const [index, sum] of rounded.entries()) {
    if (counted[index] !== true) continue;
    least = Math.min(least, sum);
    most = Math.max(most, sum);
  }
  return rounded.map((sum, index) => {
    if (counted[index] !== true) return 0;
    return most === 0 ? MAX_SCORE : Math.trunc((MAX_SCORE * (most + least - sum)) / most);
  });
}

export const preferredSpread: Scorer = {
  name: 'PodTopologySpread',
  weight: 2,
  score(pod, nodes, fleet) {
    const wanted = wantedBy(pod, fleet);
    if (wanted === undefined) return undefined;
    const { constraints, needsLabels } = wanted;
    const needed = needsLabels ? constraints.map(({ topologyKey }) => topologyKey) : [];
    const counted = nodes.map(({ labels }) => needed.every((label) => labels[label] !== undefined));
    const sums = new Float64Array(nodes.length);
    const found = new Map<SpreadConstraint['selector'], ReadonlyMap<NodeInfo, number>>();
    for (const constraint of constraints) {
      const { selector } = constraint;
      const matching = found.get(selector) ?? matchingPods(fleet, pod.shape.namespace, selector);
      found.set(selector, matching);
      addConstraint(sums, constraint, matching, { pod, nodes, counted, needed, fleet });
    }
    return invert(sums, counted);
  },
};
