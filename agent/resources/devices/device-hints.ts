/** NUMA hints for the devices of a container. Pure. Source: upstream's device manager
 *  (`generateDeviceTopologyHints`), release 1.24. */
import { type NodeMask, nodesIn, type TopologyHint } from '../topology/hints.ts';
import type { NodesOf } from './choose.ts';

export interface HintRequest {
  readonly needed: number;
  /** All devices of the resource. */
  readonly all: ReadonlySet<string>;
  readonly free: ReadonlySet<string>;
  readonly reusable: ReadonlySet<string>;
  readonly nodesOf: NodesOf;
  /** All NUMA nodes of the machine. */
  readonly machine: NodeMask;
}

function* masksOf(machine: NodeMask): Generator<NodeMask> {
  // Every subset, in ascending order of its number.
  for (let mask = machine & -machine; mask !== 0; mask = (mask - machine) & machine) yield mask;
}

const isOn = (nodes: readonly number[], mask: NodeMask): boolean =>
  nodes.some((node) => (mask & (1 << node)) !== 0);

/** Returns the possible placements; undefined when no device has NUMA information. */
export function deviceHints(request: HintRequest): readonly TopologyHint[] | undefined {
  const { needed, all, free, reusable, nodesOf, machine } = request;
  if ([...all].every((device) => nodesOf(device).length === 0)) return undefined;
  if (free.union(reusable).size < needed) return [];
  const count = (devices: ReadonlySet<string>, mask: NodeMask): number =>
    [...devices].filter((device) => isOn(nodesOf(device), mask)).length;
  let fewest = nodesIn(machine).length;
  const found: NodeMask[] = [];
  for (const mask of masksOf(machine)) {
    const width = nodesIn(mask).length;
    if (width < fewest && count(all, mask) >= needed) fewest = width;
    const elsewhere = [...reusable].some((device) => {
      const nodes = nodesOf(device);
      return nodes.length > 0 && !isOn(nodes, mask);
    });
    if (!elsewhere && count(reusable, mask) + count(free.difference(reusable), mask) >= needed)
      found.push(mask);
  }
  return found.map((nodes) => ({ nodes, preferred: nodesIn(nodes).length === fewest }));
}
