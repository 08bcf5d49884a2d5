/** What the kernel tells of processors and memory nodes, as text. Pure.
 *  Source: the kernel's documentation of /sys/devices/system/cpu and /sys/devices/system/node. */
import { type CpuSet, CpuSetError, parseCpuSet } from '../cpu/cpu-set.ts';
import { type CpuTopology, createTopology } from '../cpu/topology.ts';

/** Files of one processor; an empty text is a file that is not there. */
export interface CpuFiles {
  readonly cpu: number;
  /** `physical_package_id`; -1 where the firmware doesn't tell. */
  readonly socket: string;
  /** `core_cpus_list`, or `thread_siblings_list` of older kernels. */
  readonly siblings: string;
}

/** Files of one memory node. */
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

/** A memory node: some have no processors, some no memory. */
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

/** A list of processors as the kernel writes it; none for one that it doesn't tell. */
export function cpusOf(list: string): CpuSet {
  try {
    return parseCpuSet(list);
  } catch (thrown) {
    if (thrown instanceof CpuSetError) return new Set();
    throw thrown;
  }
}

/** Bytes of the node's memory.
 *  @param meminfo text of its `meminfo` */
export function nodeMemoryBytes(meminfo: string): number {
  const kibibytes = /^Node \d+ MemTotal:\s+(\d+) kB$/m.exec(meminfo)?.[1];
  return kibibytes === undefined ? 0 : Number(kibibytes) * 1024;
}

/** Only processors that are online count. A core goes by the least number of its threads, as numbers of cores are
 *  used again in each socket.
 *  @param nodes none where the kernel knows of no memory nodes: everything is on node 0 then */
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
