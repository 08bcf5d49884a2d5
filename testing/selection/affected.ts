/** Decides which test files a change can affect, and which of them fit into a time. Reads nothing. */

/** Who depends on a file, directly. */
export interface Dependency {
  readonly from: string;
  readonly to: string;
  /** The file is not imported: its name is in a text, as that of a program that is started or data that is read. */
  readonly isMention: boolean;
}

/** A mention is a weak sign, and stands behind all files that depend by imports. */
const MENTION_DISTANCE = 100;

/** Returns the files that depend on the changed ones, including these, with their distance in imports. */
export function dependentsOf(
  dependencies: readonly Dependency[],
  changed: Iterable<string>,
): ReadonlyMap<string, number> {
  const dependents = Map.groupBy(dependencies, ({ to }) => to);
  const distances = new Map<string, number>();
  const buckets = new Map<number, Set<string>>([[0, new Set(changed)]]);
  while (buckets.size > 0) {
    const distance = Math.min(...buckets.keys());
    const reached = buckets.get(distance) ?? [];
    buckets.delete(distance);
    for (const file of reached) {
      if (distances.has(file)) continue;
      distances.set(file, distance);
      for (const { from, isMention } of dependents.get(file) ?? []) {
        const at = distance + (isMention ? MENTION_DISTANCE : 1);
        buckets.set(at, (buckets.get(at) ?? new Set()).add(from));
      }
    }
  }
  return distances;
}

export interface Candidate {
  readonly file: string;
  readonly distance: number;
  readonly ms: number;
}

export interface Selection {
  readonly run: readonly string[];
  /** They would take too long together with those that run. */
  readonly left: readonly string[];
}

/** Takes the nearest tests first, the fast ones of the same distance first. */
export function selectWithin(candidates: readonly Candidate[], budgetMs: number): Selection {
  const ordered = candidates.toSorted((a, b) => a.distance - b.distance || a.ms - b.ms);
  const run: string[] = [];
  const left: string[] = [];
  let spentMs = 0;
  for (const { file, ms } of ordered) {
    const fits = spentMs + ms <= budgetMs;
    if (fits) spentMs += ms;
    (fits ? run : left).push(file);
  }
  return { run, left };
}
