/** Runs all filters for a pod: prepared once, then evaluated node by node. */
import type { Filter, NodeCheck } from './filters/filter.ts';
import { FILTERS } from './filters/table.ts';
import type { Fleet, FleetView } from './fleet/fleet.ts';
import type { NodeInfo, PodInfo, Refusal } from './fleet/model.ts';

export interface FailedCheck {
  readonly filter: Filter;
  readonly refusal: Refusal;
}

export interface Checks {
  /** Set if no node is feasible. */
  readonly none: FailedCheck | undefined;
  /** The first filter that rejects the node in its current state. */
  failureOn(node: NodeInfo): FailedCheck | undefined;
  /** The same checks after pods were added or removed. */
  again(fleet: FleetView): Checks;
}

interface Part {
  readonly filter: Filter;
  readonly check: NodeCheck;
}

function prepare(pod: PodInfo, fleet: FleetView, filters: readonly Filter[], kept: readonly Part[]): Checks {
  const parts: Part[] = [];
  for (const filter of filters) {
    const part = filter.looksAround ? undefined : kept.find((each) => each.filter === filter);
    if (part !== undefined) {
      parts.push(part);
      continue;
    }
    const prepared = filter.prepare(pod, fleet);
    if (prepared === undefined) continue;
    if (prepared.kind === 'none') return refused(pod, { filter, refusal: prepared.refusal }, filters);
    parts.push({ filter, check: prepared.check });
  }
  return {
    none: undefined,
    failureOn(node) {
      for (const { filter, check } of parts) {
        const refusal = check(node);
        if (refusal !== undefined) return { filter, refusal };
      }
      return undefined;
    },
    again: (now) => prepare(pod, now, filters, parts),
  };
}

const refused = (pod: PodInfo, none: FailedCheck, filters: readonly Filter[]): Checks => ({
  none,
  failureOn: () => none,
  again: (fleet) => prepare(pod, fleet, filters, []),
});

export const prepareChecks = (pod: PodInfo, fleet: FleetView, filters: readonly Filter[] = FILTERS): Checks =>
  prepare(pod, fleet, filters, []);

/** Checks a node as if these pods ran on it as well. */
function askWith(
  checks: Checks,
  node: NodeInfo,
  pods: readonly PodInfo[],
  fleet: Fleet,
): FailedCheck | undefined {
  for (const pod of pods) fleet.addPod(pod, node.name);
  try {
    return checks.again(fleet).failureOn(node);
  } finally {
    for (const { key } of pods) fleet.removePod(key);
  }
}

/** Checks a node with nominated pods both with and without them: they may never be bound. Source: upstream's
 *  filters with nominated pods. */
export function askNode(checks: Checks, pod: PodInfo, node: NodeInfo, fleet: Fleet): FailedCheck | undefined {
  let others: PodInfo[] | undefined;
  for (const other of fleet.nominated(node.name)) {
    if (other.shape.priority < pod.shape.priority || other.key === pod.key) continue;
    others ??= [];
    others.push(other);
  }
  if (others !== undefined) {
    const failed = askWith(checks, node, others, fleet);
    if (failed !== undefined) return failed;
  }
  return checks.failureOn(node);
}
