/** Memory tables of the NUMA nodes with their reservations. Pure: everything follows from the assignments.
 *  Nodes that are grouped for an assignment serve only that group, and single nodes serve only single
 *  assignments, so reservations of a group never depend on the order. Source: upstream's memory manager,
 *  release 1.24. */

/** `memory`, or huge pages such as `hugepages-2Mi`. */
export type MemoryType = string;

/** Memory of one kind on a NUMA node, in bytes. */
export interface MemoryTable {
  readonly total: number;
  readonly systemReserved: number;
  /** Available to guaranteed pods. */
  readonly allocatable: number;
}

export interface NodeMemory {
  readonly id: number;
  readonly tables: ReadonlyMap<MemoryType, MemoryTable>;
}

/** Memory of one kind that a container has on a group of nodes. */
export interface MemoryBlock {
  readonly type: MemoryType;
  readonly sizeBytes: number;
  readonly nodes: readonly number[];
}

export interface MemoryAssignment {
  readonly podUID: string;
  readonly container: string;
  /** Assignment of an init container, which the next container of the pod can reuse once it has terminated. */
  readonly init: boolean;
  readonly blocks: readonly MemoryBlock[];
}

/** Reservations on a NUMA node. */
export interface NodeUse {
  readonly id: number;
  /** Number of blocks on it. */
  readonly assignments: number;
  /** Nodes of its group; itself alone while it has no assignment. */
  readonly group: readonly number[];
  readonly reserved: ReadonlyMap<MemoryType, number>;
}

interface Draft {
  assignments: number;
  group: readonly number[];
  readonly reserved: Map<MemoryType, number>;
}

/** Distributes each block over its nodes in order, filling one after the other. */
export function useOf(
  nodes: readonly NodeMemory[],
  assignments: readonly MemoryAssignment[],
): ReadonlyMap<number, NodeUse> {
  const drafts = new Map<number, Draft>(
    nodes.map(({ id }) => [id, { assignments: 0, group: [id], reserved: new Map<string, number>() }]),
  );
  const tables = new Map(nodes.map((node) => [node.id, node.tables]));
  for (const { type, sizeBytes, nodes: on } of assignments.flatMap(({ blocks }) => blocks)) {
    let left = sizeBytes;
    for (const id of on) {
      const draft = drafts.get(id);
      if (draft === undefined) continue;
      draft.assignments += 1;
      draft.group = on;
      const before = draft.reserved.get(type) ?? 0;
      const here = Math.min(left, Math.max(0, (tables.get(id)?.get(type)?.allocatable ?? 0) - before));
      draft.reserved.set(type, before + here);
      left -= here;
    }
  }
  return new Map([...drafts].map(([id, draft]) => [id, { id, ...draft }]));
}

export const freeBytes = (node: NodeMemory, use: NodeUse | undefined, type: MemoryType): number =>
  (node.tables.get(type)?.allocatable ?? 0) - (use?.reserved.get(type) ?? 0);

export const sameNodes = (one: readonly number[], other: readonly number[]): boolean =>
  one.length === other.length && one.every((node, i) => node === other[i]);
