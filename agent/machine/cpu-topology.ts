/** CPU topology: cores, sockets and NUMA nodes. Pure; `read-topology.ts` reads it from the kernel. */
import { type CpuSet, inOrder } from './cpu-set.ts';

export interface CpuPlace {
  readonly cpu: number;
  /** Unique on the machine: the CPUs of one core are its hardware threads. */
  readonly core: number;
  readonly socket: number;
  /** NUMA node. */
  readonly numa: number;
}

export interface CpuTopology {
  readonly places: ReadonlyMap<number, CpuPlace>;
  readonly all: CpuSet;
  readonly cores: number;
  readonly sockets: number;
  readonly numaNodes: number;
}

/** A level of the topology. */
export type Level = 'core' | 'socket' | 'numa';

export function createTopology(places: readonly CpuPlace[]): CpuTopology {
  const count = (level: Level): number => new Set(places.map((place) => place[level])).size;
  return {
    places: new Map(places.map((place) => [place.cpu, place])),
    all: new Set(places.map(({ cpu }) => cpu)),
    cores: count('core'),
    sockets: count('socket'),
    numaNodes: count('numa'),
  };
}

/** Returns the hardware threads per core; 1 without simultaneous multithreading. */
export const threadsPerCore = ({ all, cores }: CpuTopology): number =>
  cores === 0 ? 1 : Math.floor(all.size / cores);

/** Groups the CPUs by the parts of the level, each part in order of its CPUs. CPUs that the machine lacks are
 *  skipped. */
export function groupBy(
  topology: CpuTopology,
  cpus: CpuSet,
  level: Level,
): ReadonlyMap<number, readonly number[]> {
  const groups = new Map<number, number[]>();
  for (const cpu of inOrder(cpus)) {
    const place = topology.places.get(cpu);
    if (place === undefined) continue;
    const group = groups.get(place[level]) ?? [];
    groups.set(place[level], group);
    group.push(cpu);
  }
  return groups;
}
