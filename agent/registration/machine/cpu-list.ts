/** Lists of processors as the kernel and `--reserved-cpus` write them: `0-3,8`. Pure. */

/** How many processors a list names; parts that are no range count for nothing. */
export function countCpus(list: string): number {
  const seen = new Set<number>();
  for (const part of list.split(',')) {
    const range = /^\s*(?<from>\d{1,5})(?:-(?<to>\d{1,5}))?\s*$/.exec(part)?.groups;
    if (range === undefined) continue;
    const from = Number(range['from']);
    for (let cpu = from; cpu <= Number(range['to'] ?? from); cpu += 1) seen.add(cpu);
  }
  return seen.size;
}
