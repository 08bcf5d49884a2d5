/** CPU lists in the form of the kernel and of `--reserved-cpus`: `0-3,8`. Pure. */

/** Counts the CPUs in a list; parts that are not ranges are ignored. */
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
