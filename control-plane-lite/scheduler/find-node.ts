/** Finds the node for a pod: filters, then scores. Pure except for the fleet, which is unchanged on return.
 *  Source: upstream's scheduling cycle, release 1.24. */
import { askNode, prepareChecks } from './checks.ts';
import type { WakeEvent } from './filters/filter.ts';
import type { Fleet } from './fleet/fleet.ts';
import type { NodeInfo, PodInfo, Refusal } from './fleet/model.ts';
import { SCORERS } from './scores/table.ts';

export interface SearchOptions {
  /** From 0 to below 1: decides between nodes that are equally good. */
  readonly random: () => number;
  /** Where among the nodes to begin. */
  readonly start: number;
}

/** Reasons why no node is feasible. */
export interface FitFailure {
  readonly refusals: ReadonlyMap<NodeInfo, Refusal>;
  readonly total: number;
  /** Events that can make the pod schedulable. */
  readonly wokenBy: ReadonlySet<WakeEvent>;
}

export type Decision =
  | { readonly kind: 'node'; readonly node: NodeInfo; readonly looked: number }
  | { readonly kind: 'none'; readonly failure: FitFailure; readonly looked: number };

/** With fewer nodes, all are checked. */
const FEW_NODES = 100;

/** Returns the sufficient number of feasible nodes: a share that decreases with the size of the fleet. */
export function enoughNodes(total: number): number {
  if (total < FEW_NODES) return total;
  const percent = Math.max(5, 50 - Math.trunc(total / 125));
  return Math.max(FEW_NODES, Math.trunc((total * percent) / 100));
}

interface Filtered {
  readonly feasible: readonly NodeInfo[];
  readonly looked: number;
  readonly failure: FitFailure;
}

function filterNodes(pod: PodInfo, fleet: Fleet, start: number): Filtered {
  const { nodes } = fleet;
  const total = nodes.length;
  const checks = prepareChecks(pod, fleet);
  const refusals = new Map<NodeInfo, Refusal>();
  const wokenBy = new Set<WakeEvent>();
  const failure = { refusals, total, wokenBy };
  if (checks.none !== undefined) {
    for (const node of nodes) refusals.set(node, checks.none.refusal);
    for (const event of checks.none.filter.wokenBy) wokenBy.add(event);
    return { feasible: [], looked: total, failure };
  }
  const wanted = fleet.node(pod.nominatedNodeName);
  if (wanted !== undefined && askNode(checks, pod, wanted, fleet) === undefined) {
    return { feasible: [wanted], looked: 0, failure };
  }
  const enough = enoughNodes(total);
  const feasible: NodeInfo[] = [];
  let looked = 0;
  for (; looked < total && feasible.length < enough; looked += 1) {
    const node = nodes[(start + looked) % total];
    if (node === undefined) continue;
    const failed = askNode(checks, pod, node, fleet);
    if (failed === undefined) {
      feasible.push(node);
      continue;
    }
    refusals.set(node, failed.refusal);
    for (const event of failed.filter.wokenBy) wokenBy.add(event);
  }
  return { feasible, looked, failure };
}

/** The best of the nodes; of several, each has the same chance. */
function pick(
  pod: PodInfo,
  nodes: readonly NodeInfo[],
  fleet: Fleet,
  random: () => number,
): NodeInfo | undefined {
  const [only] = nodes;
  if (nodes.length <= 1) return only;
  const sums = new Float64Array(nodes.length);
  for (const scorer of SCORERS) {
    const scores = scorer.score(pod, nodes, fleet);
    if (scores === undefined) continue;
    for (let index = 0; index < sums.length; index += 1) {
      sums[index] = (sums[index] ?? 0) + scorer.weight * (scores[index] ?? 0);
    }
  }
  let best = only;
  let most = Number.NEGATIVE_INFINITY;
  let ties = 0;
  for (const [index, node] of nodes.entries()) {
    const sum = sums[index] ?? 0;
    if (sum > most) {
      best = node;
      most = sum;
      ties = 1;
    } else if (sum === most) {
      ties += 1;
      if (random() * ties < 1) best = node;
    }
  }
  return best;
}

export function findNode(pod: PodInfo, fleet: Fleet, { random, start }: SearchOptions): Decision {
  const { feasible, looked, failure } = filterNodes(pod, fleet, start);
  const node = pick(pod, feasible, fleet, random);
  return node === undefined ? { kind: 'none', failure, looked } : { kind: 'node', node, looked };
}
