/** Policy `Static`: memory of guaranteed containers on chosen NUMA nodes, on as few as possible. Pure:
 *  assignments in, assignments out. Source: memory management, document 3 §4.3; upstream's memory manager,
 *  release 1.24. */

import type { Container, Pod } from '#api/gen/core-v1.ts';
import { quantityToNumber } from '#api/meta/quantity.ts';
import { qosClass } from '#api/schema/qos-class.ts';
import { type ContainerRequest, ResourceRefusal } from '../contract.ts';
import { isNarrower, maskOf, type NodeMask, nodesIn, type TopologyHint } from '../topology/hints.ts';
import {
  freeBytes,
  type MemoryAssignment,
  type MemoryBlock,
  type MemoryType,
  type NodeMemory,
  sameNodes,
  useOf,
} from './node-memory.ts';

/** Bytes by kind. */
export type MemoryAmounts = ReadonlyMap<MemoryType, number>;

const isMemory = (name: string): boolean => name === 'memory' || name.startsWith('hugepages-');

function amountsOf({ resources }: Container): MemoryAmounts {
  const requested = { ...resources?.limits, ...resources?.requests };
  const amounts = Object.entries(requested).flatMap(([name, quantity]) => {
    const bytes = isMemory(name) ? quantityToNumber(quantity) : 0;
    return bytes > 0 ? [[name, bytes] as const] : [];
  });
  return new Map(amounts);
}

/** Returns the memory to assign to a container; empty for pods that are not guaranteed. */
export function memoryAmounts(pod: Pod, container: Container): MemoryAmounts {
  return qosClass(pod) === 'Guaranteed' ? amountsOf(container) : new Map();
}

/** Returns the maximum that the pod requires at any time. */
export function podMemoryAmounts(pod: Pod, requests: readonly ContainerRequest[]): MemoryAmounts {
  const most = new Map<MemoryType, number>();
  const sum = new Map<MemoryType, number>();
  for (const { container, init } of requests) {
    for (const [type, bytes] of memoryAmounts(pod, container)) {
      if (init) most.set(type, Math.max(most.get(type) ?? 0, bytes));
      else sum.set(type, (sum.get(type) ?? 0) + bytes);
    }
  }
  const types = [...new Set([...most.keys(), ...sum.keys()])];
  return new Map(types.map((type) => [type, Math.max(most.get(type) ?? 0, sum.get(type) ?? 0)]));
}

/** Returns the memory of the pod's init containers on these nodes that the next container can reuse. */
function reusable(
  assignments: readonly MemoryAssignment[],
  podUID: string,
  { type, nodes }: Pick<MemoryBlock, 'type' | 'nodes'>,
): number {
  return assignments
    .filter((one) => one.init && one.podUID === podUID)
    .flatMap(({ blocks }) => blocks)
    .filter((block) => block.type === type && sameNodes(block.nodes, nodes))
    .reduce((total, { sizeBytes }) => total + sizeBytes, 0);
}

function subsets(nodes: readonly number[]): readonly (readonly number[])[] {
  const all = nodes.reduce<readonly (readonly number[])[]>(
    (sets, node) => [...sets, ...sets.map((set) => [...set, node])],
    [[]],
  );
  return all.filter((set) => set.length > 0);
}

/** Returns the node groups that can provide the amounts. A node with single assignments joins no group, and
 *  one of a group serves neither single assignments nor other groups. */
export function memoryHints(
  nodes: readonly NodeMemory[],
  assignments: readonly MemoryAssignment[],
  { podUID, amounts }: { readonly podUID: string; readonly amounts: MemoryAmounts },
): readonly TopologyHint[] {
  const use = useOf(nodes, assignments);
  const wanted = [...amounts];
  const on = (set: readonly number[]): readonly NodeMemory[] => nodes.filter(({ id }) => set.includes(id));
  const hasRoom = (set: readonly number[], sizeOf: (node: NodeMemory, type: MemoryType) => number): boolean =>
    wanted.every(([type, bytes]) => on(set).reduce((sum, node) => sum + sizeOf(node, type), 0) >= bytes);
  const possible = subsets(nodes.map(({ id }) => id)).filter((set) =>
    hasRoom(set, (node, type) => node.tables.get(type)?.allocatable ?? 0),
  );
  const fewest = Math.min(...possible.map((set) => set.length));
  const isUnmixed = (set: readonly number[]): boolean =>
    set.every((id) => {
      const { assignments: count = 0, group = [id] } = use.get(id) ?? {};
      return count === 0 || sameNodes(group, set);
    });
  const isFree = (set: readonly number[]): boolean =>
    wanted.every(([type, bytes]) => {
      const free = on(set).reduce((sum, node) => sum + freeBytes(node, use.get(node.id), type), 0);
      return free + reusable(assignments, podUID, { type, nodes: set }) >= bytes;
    });
  return possible
    .filter((set) => isUnmixed(set) && isFree(set))
    .map((set) => ({ nodes: maskOf(set), preferred: set.length === fewest }));
}

/** Preferred hints first, then those with the fewest nodes. */
function bestOf(hints: readonly TopologyHint[]): (TopologyHint & { readonly nodes: NodeMask }) | undefined {
  let best: { nodes: NodeMask; preferred: boolean } | undefined;
  for (const { nodes, preferred } of hints) {
    if (nodes === undefined) continue;
    const isBetter =
      best === undefined ||
      (preferred && !best.preferred) ||
      (preferred === best.preferred && isNarrower(nodes, best.nodes));
    if (isBetter) best = { nodes, preferred };
  }
  return best;
}

const refusal = (message: string): ResourceRefusal =>
  new ResourceRefusal('UnexpectedAdmissionError', message);

export interface MemoryRequest {
  readonly podUID: string;
  readonly container: string;
  readonly init: boolean;
  readonly amounts: MemoryAmounts;
}

/** Returns the nodes for the request: the merged hint if possible, else the best superset of it. */
function chooseNodes(
  hints: readonly TopologyHint[],
  { container }: MemoryRequest,
  where: TopologyHint,
): readonly number[] {
  const { nodes: mask = 0 } = where;
  const exact = hints.find(({ nodes }) => nodes === mask);
  const best = exact ?? bestOf(hints.filter(({ nodes = 0 }) => (nodes & mask) === mask));
  if (best?.nodes === undefined) throw refusal(`no NUMA nodes have enough memory for container ${container}`);
  if (where.preferred && !best.preferred) {
    throw refusal(
      `only a wider set of NUMA nodes than necessary has enough memory for container ${container}`,
    );
  }
  return nodesIn(best.nodes);
}

/** Reuses memory of the init containers on the same nodes, which reduces their assignments. */
function takeOver(
  assignments: readonly MemoryAssignment[],
  podUID: string,
  wanted: readonly MemoryBlock[],
): readonly MemoryAssignment[] {
  const left = new Map(wanted.map(({ type, sizeBytes }) => [type, sizeBytes]));
  return assignments.map((one) => {
    if (!one.init || one.podUID !== podUID) return one;
    const blocks = one.blocks.map((block) => {
      const requested = wanted.find(({ type }) => type === block.type);
      if (requested === undefined || !sameNodes(requested.nodes, block.nodes)) return block;
      const taken = Math.min(block.sizeBytes, left.get(block.type) ?? 0);
      left.set(block.type, (left.get(block.type) ?? 0) - taken);
      return { ...block, sizeBytes: block.sizeBytes - taken };
    });
    return { ...one, blocks };
  });
}

/** Returns the assignments with that of the container; unchanged if it has one already, or requests no
 *  memory.
 *  @throws ResourceRefusal */
export function assignMemory(
  nodes: readonly NodeMemory[],
  assignments: readonly MemoryAssignment[],
  request: MemoryRequest,
  where: TopologyHint,
): readonly MemoryAssignment[] {
  const { podUID, container, init, amounts } = request;
  if (amounts.size === 0) return assignments;
  if (assignments.some((one) => one.podUID === podUID && one.container === container)) return assignments;
  const on = chooseNodes(memoryHints(nodes, assignments, request), request, where);
  const blocks = [...amounts].map(([type, sizeBytes]) => ({ type, sizeBytes, nodes: on }));
  return [...takeOver(assignments, podUID, blocks), { podUID, container, init, blocks }];
}

/** Returns the assignments without those of the pod. */
export const releaseMemory = (
  assignments: readonly MemoryAssignment[],
  podUID: string,
): readonly MemoryAssignment[] => assignments.filter((one) => one.podUID !== podUID);
