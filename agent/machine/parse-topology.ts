/** Parser of the kernel's CPU and NUMA topology files. Pure.
 *  Source: the kernel's documentation of /sys/devices/system/cpu and /sys/devices/system/node. */
import { type CpuSet, CpuSetError, parseCpuSet } from './cpu-set.ts';
import { type CpuTopology, createTopology } from './cpu-topology.ts';

/** Files of one CPU; an empty text stands for a missing file. */
export interface CpuFiles {
  readonly cpu: number;
  /** `physical_package_id`; -1 where the firmware does not provide it. */
  readonly socket: string;
  /** `core_cpus_list`, or `thread_siblings_list` of older kernels. */
  readonly siblings: string;
}

/** Files of one NUMA node. */
export interface NodeFiles {
  readonly id: number;
  readonly cpulist: string;
  readonly meminfo: string;
  readonly hugePages: readonly HugePages[];
}

export interface HugePages {
  readonly sizeBytes: number;
  readonly count: number;
}

/** A NUMA node, possibly without CPUs or without memory. */
export interface MemoryNode {
  readonly id: number;
  readonly memoryBytes: number;
  readonly hugePages: readonly HugePages[];
}

export interface MachineTopology {
  readonly cpu: CpuTopology;
  /** In order of their numbers. */
  readonly nodes: readonly MemoryNode[];
}

/** Parses a CPU list of the kernel; empty for a missing one. */
export function cpusOf(list: string): CpuSet {
  try {
    return parseCpuSet(list);
  } catch (thrown) {
    if (thrown instanceof CpuSetError) return new Set();
    throw thrown;
  }
}

/** Returns the memory of the node in bytes.
 *  @param meminfo text of its `meminfo` */
function nodeMemoryBytes(meminfo: string): number {
  const kibibytes = /^Node \d+ MemTotal:\s+(\d+) kB$/m.exec(meminfo)?.[1];
  return kibibytes === undefined ? 0 : Number(kibibytes) * 1024;
}

/** Includes online CPUs only. A core is identified by its lowest thread, as core numbers repeat in each
 *  socket.
 *  @param nodes empty on a kernel without NUMA: everything is on node 0 then */
export function machineTopology(
  online: CpuSet,
  cpus: readonly CpuFiles[],
  nodes: readonly NodeFiles[],
): MachineTopology {
  const nodeOf = new Map(nodes.flatMap(({ id, cpulist }) => [...cpusOf(cpulist)].map((cpu) => [cpu, id])));
  const places = cpus
    .filter(({ cpu }) => online.has(cpu))
    .map(({ cpu, socket, siblings }) => ({
      cpu,
      core: Math.min(cpu, ...[...cpusOf(siblings)].filter((one) => online.has(one))),
      socket: Math.max(0, Number.parseInt(socket, 10) || 0),
      numa: nodeOf.get(cpu) ?? 0,
    }));
  return {
    cpu: createTopology(places),
    nodes: nodes
      .map(({ id, meminfo, hugePages }) => ({ id, memoryBytes: nodeMemoryBytes(meminfo), hugePages }))
      .toSorted((a, b) => a.id - b.id),
  };
}
