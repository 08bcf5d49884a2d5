/** Preemption: selects the node and the lower-priority pods whose eviction makes a pod schedulable at the
 *  lowest cost. Pure except for the fleet, which is unchanged on return. Source: upstream's default
 *  preemption, release 1.24. */
import { askNode, type Checks, prepareChecks } from './checks.ts';
import { lasting } from './filters/filter.ts';
import type { FitFailure } from './find-node.ts';
import type { Fleet } from './fleet/fleet.ts';
import type { NodeInfo, PodInfo, Refusal } from './fleet/model.ts';
import { formatFailure } from './messages.ts';

export interface Budget {
  /** Whether the budget selects the pod. */
  readonly covers: (pod: PodInfo) => boolean;
  /** Remaining allowed disruptions. */
  readonly allowed: number;
  /** Pods whose eviction is in flight and already counted. */
  readonly isDisrupted: (podName: string) => boolean;
}

export interface Victims {
  readonly node: NodeInfo;
  /** The most important first. */
  readonly pods: readonly PodInfo[];
  /** Number of victims that violate a budget. */
  readonly violations: number;
}

export type Preemption =
  | { readonly kind: 'victims'; readonly victims: Victims }
  /** Preemption does not help: `keep` if victims are terminating already; else the pod's nomination is
   *  withdrawn. */
  | { readonly kind: 'none'; readonly keep: boolean; readonly message: string };

/** Number of candidate nodes that suffices, and maximum number of trial removals: preemption must be fast. */
const MOST_CANDIDATES = 100;
const MOST_MOVES = 10_000;

const NOT_HELPFUL = lasting('Preemption is not helpful for scheduling');
const NO_VICTIMS = lasting('No preemption victims found for incoming pod');

/** Orders pods by importance, the most important first. */
function byImportance(a: PodInfo, b: PodInfo): number {
  const difference = b.shape.priority - a.shape.priority || a.startedMs - b.startedMs;
  return difference === 0 ? (a.key < b.key ? -1 : 1) : difference;
}

/** Splits pods by whether deleting all of them violates a budget. */
function splitByBudgets(
  pods: readonly PodInfo[],
  budgets: readonly Budget[],
): { readonly violating: readonly PodInfo[]; readonly others: readonly PodInfo[] } {
  const left = budgets.map(({ allowed }) => allowed);
  const violating: PodInfo[] = [];
  const others: PodInfo[] = [];
  for (const pod of pods) {
    let violates = false;
    for (const [index, budget] of budgets.entries()) {
      if (!budget.covers(pod) || budget.isDisrupted(pod.name)) continue;
      left[index] = (left[index] ?? 0) - 1;
      violates ||= (left[index] ?? 0) < 0;
    }
    (violates ? violating : others).push(pod);
  }
  return { violating, others };
}

interface Trial {
  readonly pod: PodInfo;
  readonly fleet: Fleet;
  readonly checks: Checks;
  readonly budgets: readonly Budget[];
  moves: number;
}

/** The minimal set of victims on the node; `undefined` if not even deleting all of them suffices. */
function selectVictims(trial: Trial, node: NodeInfo): Victims | undefined {
  const { pod, fleet, checks, budgets } = trial;
  const lower = [...node.pods.values()]
    .filter(({ shape }) => shape.priority < pod.shape.priority)
    .sort(byImportance);
  if (lower.length === 0) return undefined;
  const fits = (): boolean => {
    trial.moves += 1;
    return askNode(checks.again(fleet), pod, node, fleet) === undefined;
  };
  const victims: PodInfo[] = [];
  let violations = 0;
  trial.moves += lower.length;
  for (const { key } of lower) fleet.removePod(key);
  try {
    if (!fits()) return undefined;
    const { violating, others } = splitByBudgets(lower, budgets);
    for (const candidate of [...violating, ...others]) {
      fleet.addPod(candidate, node.name);
      if (fits()) continue;
      fleet.removePod(candidate.key);
      victims.push(candidate);
      if (violating.includes(candidate)) violations += 1;
    }
  } finally {
    for (const each of lower) fleet.addPod(each, node.name);
  }
  return { node, pods: victims.sort(byImportance), violations };
}

const highest = ({ pods }: Victims): number => pods[0]?.shape.priority ?? Number.NEGATIVE_INFINITY;

/** Offset so that more pods always cost more, whatever their priorities. */
const sum = ({ pods }: Victims): number =>
  pods.reduce((total, { shape }) => total + shape.priority + 2 ** 31, 0);

/** Earliest start of the most important victims. */
function earliestStart(victims: Victims): number {
  const most = highest(victims);
  return victims.pods
    .filter(({ shape }) => shape.priority === most)
    .reduce((least, { startedMs }) => Math.min(least, startedMs), Number.POSITIVE_INFINITY);
}

/** Negative if the first costs less. */
function compareCosts(a: Victims, b: Victims): number {
  return (
    a.violations - b.violations ||
    highest(a) - highest(b) ||
    sum(a) - sum(b) ||
    a.pods.length - b.pods.length ||
    // Prefer victims that started latest.
    earliestStart(b) - earliestStart(a)
  );
}

/** Reports whether victims for the pod are terminating already. */
function isWaiting(pod: PodInfo, fleet: Fleet, failure: FitFailure): boolean {
  const node = fleet.node(pod.nominatedNodeName);
  if (node === undefined || failure.refusals.get(node)?.resolvable === false) return false;
  return [...node.pods.values()].some(
    ({ terminating, shape }) => terminating && shape.priority < pod.shape.priority,
  );
}

function noPreemption(failure: FitFailure, tried: ReadonlySet<NodeInfo>): Preemption {
  const refusals = new Map<NodeInfo, Refusal>(
    [...failure.refusals.keys()].map((node) => [node, tried.has(node) ? NO_VICTIMS : NOT_HELPFUL]),
  );
  return { kind: 'none', keep: false, message: `preemption: ${formatFailure(failure.total, refusals)}` };
}

/** `start`: index of the first node to try. */
export function decidePreemption(
  pod: PodInfo,
  fleet: Fleet,
  failure: FitFailure,
  { budgets, start }: { readonly budgets: () => readonly Budget[]; readonly start: number },
): Preemption {
  if (!pod.shape.mayPreempt) {
    return { kind: 'none', keep: true, message: 'preemption: not eligible due to preemptionPolicy=Never.' };
  }
  if (isWaiting(pod, fleet, failure)) {
    return {
      kind: 'none',
      keep: true,
      message: 'preemption: not eligible due to a terminating pod on the nominated node.',
    };
  }
  const possible = [...failure.refusals].filter(([, refusal]) => refusal.resolvable).map(([node]) => node);
  if (fleet.lowestPriority >= pod.shape.priority) return noPreemption(failure, new Set(possible));
  const wanted = Math.max(MOST_CANDIDATES, Math.trunc(possible.length / 10));
  const trial: Trial = { pod, fleet, budgets: budgets(), checks: prepareChecks(pod, fleet), moves: 0 };
  const tried = new Set<NodeInfo>();
  let best: Victims | undefined;
  let found = 0;
  for (let index = 0; index < possible.length && found < wanted && trial.moves < MOST_MOVES; index += 1) {
    const node = possible[(start + index) % possible.length];
    if (node === undefined) continue;
    tried.add(node);
    const victims = selectVictims(trial, node);
    if (victims !== undefined) {
      found += 1;
      if (best === undefined || compareCosts(victims, best) < 0) best = victims;
    }
  }
  return best === undefined ? noPreemption(failure, tried) : { kind: 'victims', victims: best };
}
