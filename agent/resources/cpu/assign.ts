/** Choice of exclusive CPUs: as close together as possible, and leaving the free ones as whole as possible.
 *  Pure. Source: upstream's CPU manager (`takeByTopologyNUMAPacked`, `…Distributed`), 1.24. */
import { type CpuSet, inOrder } from '../../machine/cpu-set.ts';
import { type CpuTopology, groupBy, type Level, threadsPerCore } from '../../machine/cpu-topology.ts';

/** Fewer CPUs are free than requested. */
export class NotEnoughCpusError extends Error {
  override readonly name = 'NotEnoughCpusError';

  constructor(wanted: number, free: number) {
    super(`not enough free CPUs: ${wanted} requested, ${free} free`);
  }
}

/** Returns the parts of the level with free CPUs, those with the fewest first: partly used parts are filled
 *  up. */
function fullestFirst(topology: CpuTopology, free: CpuSet, level: Level): readonly (readonly number[])[] {
  const groups = [...groupBy(topology, free, level)];
  return groups
    .toSorted(([one, a], [other, b]) => a.length - b.length || one - other)
    .map(([, cpus]) => cpus);
}

/** Returns the free CPUs in the order in which single ones are taken: level by level, fullest part first. */
function closestOrder(topology: CpuTopology, free: CpuSet, levels: readonly Level[]): readonly number[] {
  const [level, ...finer] = levels;
  if (level === undefined) return inOrder(free);
  return fullestFirst(topology, free, level).flatMap((part) => closestOrder(topology, new Set(part), finer));
}

/** The coarser level first: sockets or NUMA nodes, whichever are fewer. */
function levelsOf({ sockets, numaNodes }: CpuTopology): readonly [Level, Level] {
  return sockets >= numaNodes ? ['numa', 'socket'] : ['socket', 'numa'];
}

/** Returns `count` of the `free` CPUs: whole sockets and NUMA nodes as long as possible, then whole cores,
 *  then single threads. @throws NotEnoughCpusError */
export function takePacked(topology: CpuTopology, free: CpuSet, count: number): CpuSet {
  if (free.size < count) throw new NotEnoughCpusError(count, free.size);
  const left = new Set(free);
  const taken = new Set<number>();
  const take = (cpus: readonly number[]): void => {
    for (const cpu of cpus) {
      left.delete(cpu);
      taken.add(cpu);
    }
  };
  const levels = levelsOf(topology);
  const whole = wholeSizes(topology);
  for (const level of levels) {
    for (const part of fullestFirst(topology, left, level)) {
      const isWhole = part.length === whole[level].get(partOf(topology, part, level));
      if (isWhole && part.length <= count - taken.size) take(part);
    }
  }
  for (const core of coresInOrder(topology, left, levels)) {
    const isWhole = core.length === whole.core.get(partOf(topology, core, 'core'));
    if (isWhole && core.length <= count - taken.size) take(core);
  }
  take(closestOrder(topology, left, [...levels, 'core']).slice(0, count - taken.size));
  return taken;
}

type Sizes = Readonly<Record<Level, ReadonlyMap<number, number>>>;

/** Returns the number of CPUs of each part of the machine, free or not. */
function wholeSizes(topology: CpuTopology): Sizes {
  const sizes = (level: Level): ReadonlyMap<number, number> =>
    new Map([...groupBy(topology, topology.all, level)].map(([id, cpus]) => [id, cpus.length]));
  return { core: sizes('core'), socket: sizes('socket'), numa: sizes('numa') };
}

function partOf(topology: CpuTopology, [first = -1]: readonly number[], level: Level): number {
  return topology.places.get(first)?.[level] ?? -1;
}

/** Returns the free CPUs by core, most used parts first. */
function coresInOrder(
  topology: CpuTopology,
  free: CpuSet,
  levels: readonly Level[],
): readonly (readonly number[])[] {
  const [level, ...finer] = levels;
  if (level === undefined) return fullestFirst(topology, free, 'core');
  return fullestFirst(topology, free, level).flatMap((part) => coresInOrder(topology, new Set(part), finer));
}

/** Returns `count` CPUs distributed evenly over as few NUMA nodes as possible, in undivided groups of
 *  `groupSize`. Packs them where no even distribution is possible. @throws NotEnoughCpusError */
export function takeDistributed(
  topology: CpuTopology,
  free: CpuSet,
  count: number,
  groupSize: number,
): CpuSet {
  if (free.size < count) throw new NotEnoughCpusError(count, free.size);
  if (count % groupSize !== 0) return takePacked(topology, free, count);
  const nodes = [...groupBy(topology, free, 'numa').values()];
  for (let size = 1; size <= nodes.length; size += 1) {
    const best = combinations(nodes, size)
      .map((chosen) => ({ chosen, shares: evenShares(chosen, count, groupSize) }))
      .filter(({ shares }) => shares !== undefined)
      .toSorted((a, b) => unevenness(nodes, a) - unevenness(nodes, b))[0];
    if (best?.shares === undefined) continue;
    const { shares } = best;
    return new Set(
      best.chosen.flatMap((node, i) => [...takePacked(topology, new Set(node), shares[i] ?? 0)]),
    );
  }
  return takePacked(topology, free, count);
}

type Nodes = readonly (readonly number[])[];

function combinations(nodes: Nodes, size: number): readonly Nodes[] {
  if (size === 0) return [[]];
  return nodes.flatMap((node, i) =>
    combinations(nodes.slice(i + 1), size - 1).map((rest) => [node, ...rest]),
  );
}

/** CPUs per node: the same number on each, and the remainder in groups on those with the most free. */
function evenShares(chosen: Nodes, count: number, groupSize: number): readonly number[] | undefined {
  const groups = count / groupSize;
  const each = Math.floor(groups / chosen.length) * groupSize;
  const shares = chosen.map(() => each);
  const byFree = chosen.map((node, i) => ({ i, free: node.length })).toSorted((a, b) => b.free - a.free);
  for (const { i } of byFree.slice(0, groups % chosen.length)) shares[i] = each + groupSize;
  return chosen.every((node, i) => node.length >= (shares[i] ?? 0)) ? shares : undefined;
}

/** Variance of the free CPUs over all nodes. */
function unevenness(
  nodes: Nodes,
  { chosen, shares }: { readonly chosen: Nodes; readonly shares: readonly number[] | undefined },
): number {
  const left = nodes.map((node) => {
    const at = chosen.indexOf(node);
    return node.length - (at < 0 ? 0 : (shares?.[at] ?? 0));
  });
  const mean = left.reduce((sum, one) => sum + one, 0) / left.length;
  return left.reduce((sum, one) => sum + (one - mean) ** 2, 0);
}

/** Reports whether the CPUs form whole cores, as `full-pcpus-only` requires. */
export function isWholeCores(topology: CpuTopology, count: number): boolean {
  return count % threadsPerCore(topology) === 0;
}
