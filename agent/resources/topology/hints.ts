/** Topology hints: merges the NUMA placements of CPUs, memory and devices of a container. Pure.
 *  Source: upstream's topology manager (policies and `mergeFilteredHints`), release 1.24. */

/** NUMA nodes as bits: node 0 is 1, node 1 is 2. */
export type NodeMask = number;

/** A possible placement of one resource. */
export interface TopologyHint {
  /** undefined: any node. */
  readonly nodes: NodeMask | undefined;
  /** Whether it uses as few nodes as possible. */
  readonly preferred: boolean;
}

/** Placements by resource; an empty list is unsatisfiable, undefined is indifferent. */
export type ProviderHints = Readonly<Record<string, readonly TopologyHint[] | undefined>>;

export type TopologyPolicy = 'none' | 'best-effort' | 'restricted' | 'single-numa-node';

export interface TopologyVerdict {
  readonly hint: TopologyHint;
  readonly admit: boolean;
}

/** More nodes have too many combinations. Source: upstream's limit. */
export const MOST_NODES = 8;

const ANYWHERE: TopologyHint = { nodes: undefined, preferred: true };
const NOWHERE: TopologyHint = { nodes: undefined, preferred: false };

export const maskOf = (nodes: Iterable<number>): NodeMask =>
  [...nodes].reduce((mask, node) => mask | (1 << node), 0);

export const nodesIn = (mask: NodeMask): readonly number[] =>
  Array.from({ length: 31 }, (_, node) => node).filter((node) => (mask & (1 << node)) !== 0);

/** Counts the nodes of a mask. */
export function size(mask: NodeMask): number {
  let count = 0;
  for (let left = mask; left !== 0; left &= left - 1) count += 1;
  return count;
}

/** Fewer nodes first, then those with the lower numbers. */
export function isNarrower(one: NodeMask, other: NodeMask): boolean {
  return size(one) === size(other) ? one < other : size(one) < size(other);
}

function waysOf(providers: readonly ProviderHints[]): readonly (readonly TopologyHint[])[] {
  return providers.flatMap((provider) =>
    Object.values(provider).map((hints) => {
      if (hints === undefined) return [ANYWHERE];
      return hints.length === 0 ? [NOWHERE] : hints;
    }),
  );
}

/** Intersects one placement per resource, for every combination. Equal results are merged: there are far
 *  fewer results than combinations. */
function meetings(ways: readonly (readonly TopologyHint[])[], all: NodeMask): Iterable<Meeting> {
  let met: ReadonlyMap<number, Meeting> = new Map([[0, { nodes: all, preferred: true }]]);
  for (const hints of ways) {
    const next = new Map<number, Meeting>();
    for (const before of met.values()) {
      for (const hint of hints) {
        const nodes = before.nodes & (hint.nodes ?? all);
        const preferred = before.preferred && hint.preferred;
        if (nodes !== 0) next.set(nodes * 2 + Number(preferred), { nodes, preferred });
      }
    }
    met = next;
  }
  return met.values();
}

interface Meeting {
  readonly nodes: NodeMask;
  readonly preferred: boolean;
}

function best(ways: readonly (readonly TopologyHint[])[], all: NodeMask): Meeting {
  let found: Meeting = { nodes: all, preferred: false };
  for (const merged of meetings(ways, all)) {
    if (found.preferred && !merged.preferred) continue;
    if ((merged.preferred && !found.preferred) || isNarrower(merged.nodes, found.nodes)) found = merged;
  }
  return found;
}

/** @param all all NUMA nodes of the machine */
export function decideTopology(
  policy: TopologyPolicy,
  providers: readonly ProviderHints[],
  all: NodeMask,
): TopologyVerdict {
  const ways = waysOf(providers);
  switch (policy) {
    case 'none':
      return { hint: NOWHERE, admit: true };
    case 'best-effort':
      return { hint: best(ways, all), admit: true };
    case 'restricted': {
      const hint = best(ways, all);
      return { hint, admit: hint.preferred };
    }
    case 'single-numa-node': {
      const single = ways.map((hints) =>
        hints.filter(({ nodes, preferred }) => preferred && (nodes === undefined || size(nodes) === 1)),
      );
      const hint = best(single, all);
      // No resource has a preference: any node suits.
      const free = hint.nodes === all && hint.preferred;
      return { hint: free ? ANYWHERE : hint, admit: hint.preferred };
    }
    default:
      throw new Error(policy satisfies never);
  }
}
