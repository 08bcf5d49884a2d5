/** Policy `static`: exclusive CPUs for containers of guaranteed pods that request whole ones; all others
 *  share the rest. Pure: assignments in, assignments out. Source: CPU management, document 3 §4.3; upstream's
 *  CPU manager, release 1.24. */

import type { Container, Pod } from '#api/gen/core-v1.ts';
import { milliValue } from '#api/meta/quantity.ts';
import { qosClass } from '#api/schema/qos-class.ts';
import { type CpuSet, inOrder } from '../../machine/cpu-set.ts';
import { type CpuTopology, groupBy, threadsPerCore } from '../../machine/cpu-topology.ts';
import { ResourceRefusal } from '../contract.ts';
import { maskOf, type NodeMask, nodesIn, size, type TopologyHint } from '../topology/hints.ts';
import { isWholeCores, takeDistributed, takePacked } from './assign.ts';

/** Exclusive CPUs of a container. */
export interface CpuAssignment {
  readonly podUID: string;
  readonly container: string;
  readonly cpus: CpuSet;
  /** Assignment of an init container, whose CPUs the next container of the pod can reuse once it has
   *  terminated. */
  readonly init: boolean;
}

export interface StaticOptions {
  /** Reject requests that would share a core with other containers. */
  readonly fullPcpusOnly: boolean;
  readonly distributeAcrossNuma: boolean;
}

export interface StaticPolicy {
  readonly topology: CpuTopology;
  /** Reserved for the system: never assigned exclusively. */
  readonly reserved: CpuSet;
  readonly options: StaticOptions;
}

/** The request of a container cannot be satisfied; the pod fails with the reason. */
export class CpuRefusal extends ResourceRefusal {
  override readonly name = 'CpuRefusal';
}

/** Returns the number of exclusive CPUs of the container; 0 for one in the shared pool. */
export function exclusiveCpus(pod: Pod, container: Container): number {
  if (qosClass(pod) !== 'Guaranteed') return 0;
  const cpu = container.resources?.requests?.['cpu'] ?? container.resources?.limits?.['cpu'];
  const milli = cpu === undefined ? 0 : milliValue(cpu);
  return milli % 1000 === 0 ? milli / 1000 : 0;
}

function without(cpus: CpuSet, taken: Iterable<number>): CpuSet {
  const left = new Set(cpus);
  for (const cpu of taken) left.delete(cpu);
  return left;
}

/** Returns the shared pool, which includes the reserved CPUs. */
export function sharedCpus({ topology }: StaticPolicy, assignments: readonly CpuAssignment[]): CpuSet {
  return without(
    topology.all,
    assignments.flatMap(({ cpus }) => [...cpus]),
  );
}

/** Returns CPUs of the pod's init containers that none of its other containers has. */
function reusable(assignments: readonly CpuAssignment[], podUID: string): CpuSet {
  const own = assignments.filter((assignment) => assignment.podUID === podUID);
  const init = own.filter((assignment) => assignment.init).flatMap(({ cpus }) => [...cpus]);
  const app = own.filter((assignment) => !assignment.init).flatMap(({ cpus }) => [...cpus]);
  return without(new Set(init), app);
}

/** Returns the CPUs that can be assigned to a container of the pod. */
function available(policy: StaticPolicy, assignments: readonly CpuAssignment[], podUID: string): CpuSet {
  const free = without(sharedCpus(policy, assignments), policy.reserved);
  return new Set([...free, ...reusable(assignments, podUID)]);
}

export interface CpuRequest {
  readonly podUID: string;
  readonly container: string;
  readonly count: number;
  readonly init: boolean;
  /** Preferred NUMA nodes. */
  readonly nodes?: NodeMask;
}

function onNodes(topology: CpuTopology, cpus: CpuSet, nodes: NodeMask): CpuSet {
  const groups = groupBy(topology, cpus, 'numa');
  return new Set(nodesIn(nodes).flatMap((node) => groups.get(node) ?? []));
}

/** Those of the init containers first: they would be idle otherwise. */
function take(policy: StaticPolicy, free: CpuSet, preferred: CpuSet, count: number): CpuSet {
  const { topology, options } = policy;
  const first = takePacked(topology, preferred, Math.min(count, preferred.size));
  const left = without(free, first);
  const rest = count - first.size;
  const more = options.distributeAcrossNuma
    ? takeDistributed(topology, left, rest, options.fullPcpusOnly ? threadsPerCore(topology) : 1)
    : takePacked(topology, left, rest);
  return new Set([...first, ...more]);
}

/** Returns the assignments with that of the container; unchanged if it has one already, as after a restart of
 *  agent or container.
 *  @throws CpuRefusal */
export function assignCpus(
  policy: StaticPolicy,
  assignments: readonly CpuAssignment[],
  request: CpuRequest,
): readonly CpuAssignment[] {
  const { podUID, container, count, init, nodes } = request;
  if (assignments.some((one) => one.podUID === podUID && one.container === container)) return assignments;
  const { topology, options } = policy;
  if (options.fullPcpusOnly && !isWholeCores(topology, count)) {
    const threads = threadsPerCore(topology);
    const message = `${count} CPUs of container ${container} are not full cores: a multiple of ${threads} is required (full-pcpus-only)`;
    throw new CpuRefusal('SMTAlignmentError', message);
  }
  const free = available(policy, assignments, podUID);
  if (free.size < count) {
    const message = `container ${container} requests ${count} exclusive CPUs and ${free.size} are free`;
    throw new CpuRefusal('UnexpectedAdmissionError', message);
  }
  const reuse = reusable(assignments, podUID);
  const near = nodes === undefined ? free : onNodes(topology, free, nodes);
  const nearby = take(policy, near, intersect(reuse, near), Math.min(count, near.size));
  const left = without(free, nearby);
  const rest = take(policy, left, intersect(reuse, left), count - nearby.size);
  const cpus = new Set(inOrder(new Set([...nearby, ...rest])));
  return [...assignments, { podUID, container, cpus, init }];
}

const intersect = (one: CpuSet, other: CpuSet): CpuSet => new Set([...one].filter((cpu) => other.has(cpu)));

/** Returns the assignments without those of removed pods. */
export const releasePods = (
  assignments: readonly CpuAssignment[],
  isGone: (podUID: string) => boolean,
): readonly CpuAssignment[] => assignments.filter(({ podUID }) => !isGone(podUID));

/** Returns the NUMA placements for the CPUs of the container; undefined for one in the shared pool. Existing
 *  CPUs stay in place. */
export function cpuHints(
  policy: StaticPolicy,
  assignments: readonly CpuAssignment[],
  request: Omit<CpuRequest, 'nodes'>,
): readonly TopologyHint[] | undefined {
  const { podUID, container, count } = request;
  if (count === 0) return undefined;
  const own = assignments.find((one) => one.podUID === podUID && one.container === container);
  if (own !== undefined && own.cpus.size !== count) return [];
  if (own !== undefined) return hintsFor(policy.topology, { free: own.cpus, needed: new Set(), count });
  const free = available(policy, assignments, podUID);
  return hintsFor(policy.topology, { free, needed: reusable(assignments, podUID), count });
}

/** The same for all containers of a pod together.
 *  @param requests of all containers, including those in the shared pool */
export function podCpuHints(
  policy: StaticPolicy,
  assignments: readonly CpuAssignment[],
  podUID: string,
  requests: readonly Omit<CpuRequest, 'nodes'>[],
): readonly TopologyHint[] | undefined {
  const sum = requests.filter(({ init }) => !init).reduce((total, { count }) => total + count, 0);
  const count = Math.max(sum, ...requests.filter(({ init }) => init).map((request) => request.count));
  if (count === 0) return undefined;
  const own = assignments.filter((assignment) => assignment.podUID === podUID);
  if (own.length === 0) {
    const free = available(policy, assignments, podUID);
    return hintsFor(policy.topology, { free, needed: new Set(), count });
  }
  const isSame = requests.every((request) => {
    const held = own.find(({ container }) => container === request.container)?.cpus.size ?? 0;
    return held === request.count;
  });
  if (!isSame) return [];
  const free = new Set(own.flatMap(({ cpus }) => [...cpus]));
  return hintsFor(policy.topology, { free, needed: new Set(), count });
}

/** Counts the CPUs on the nodes of a mask. */
function countOn(topology: CpuTopology, cpus: CpuSet): (mask: NodeMask) => number {
  const counts = [...groupBy(topology, cpus, 'numa')].map(([node, group]) => ({
    bit: maskOf([node]),
    count: group.length,
  }));
  return (mask) => counts.reduce((sum, { bit, count }) => ((mask & bit) === 0 ? sum : sum + count), 0);
}

interface Wanted {
  readonly free: CpuSet;
  /** CPUs that the container reuses, whose nodes it must include. */
  readonly needed: CpuSet;
  readonly count: number;
}

function hintsFor(topology: CpuTopology, { free, needed, count }: Wanted): readonly TopologyHint[] {
  const mustBeOn = maskOf(groupBy(topology, needed, 'numa').keys());
  const nodes = [...groupBy(topology, topology.all, 'numa').keys()].toSorted((a, b) => a - b);
  const masks = subsets(nodes);
  const freeOn = countOn(topology, free);
  const allOn = countOn(topology, topology.all);
  const enough = masks.filter((mask) => (mask & mustBeOn) === mustBeOn && freeOn(mask) >= count);
  const fewest = Math.min(...masks.filter((mask) => allOn(mask) >= count).map(size));
  return enough.map((mask) => ({ nodes: mask, preferred: size(mask) === fewest }));
}

function subsets(nodes: readonly number[]): readonly NodeMask[] {
  const all = nodes.reduce<readonly number[][]>(
    (sets, node) => [...sets, ...sets.map((set) => [...set, node])],
    [[]],
  );
  return all.filter((set) => set.length > 0).map((set) => maskOf(set));
}
