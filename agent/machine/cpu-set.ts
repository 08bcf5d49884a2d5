/** CPU sets in the kernel's list format: `0-3,8,10-11`. Pure. Source: cpuset(7), List format. */

export type CpuSet = ReadonlySet<number>;

/** A text that is not a CPU list. */
export class CpuSetError extends Error {
  override readonly name = 'CpuSetError';

  constructor(text: string) {
    super(`${JSON.stringify(text.slice(0, 100))} is not a CPU list such as 0-3,8`);
  }
}

/** Far above the number of CPUs of any machine; bounds the memory that a range can occupy. */
const HIGHEST = 65_535;

function parsePart(part: string, text: string): readonly number[] {
  const [, first, last = first] = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(part) ?? [];
  const from = Number(first);
  const to = Number(last);
  if (first === undefined || from > to || to > HIGHEST) throw new CpuSetError(text);
  return Array.from({ length: to - from + 1 }, (_, i) => from + i);
}

/** Parses a list; an empty text is the empty set. @throws CpuSetError */
export function parseCpuSet(text: string): CpuSet {
  const trimmed = text.trim();
  if (trimmed === '') return new Set();
  return new Set(trimmed.split(',').flatMap((part) => parsePart(part, trimmed)));
}

/** Formats the CPUs in order, with ranges. */
export function formatCpuSet(cpus: CpuSet): string {
  const ranges: [number, number][] = [];
  for (const cpu of inOrder(cpus)) {
    const last = ranges.at(-1);
    if (last !== undefined && last[1] === cpu - 1) last[1] = cpu;
    else ranges.push([cpu, cpu]);
  }
  return ranges.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(',');
}

export const inOrder = (cpus: CpuSet): readonly number[] => [...cpus].toSorted((a, b) => a - b);
