/** How much memory of each kind the memory nodes have, and what of it is booked. Pure: everything follows from the
 *  assignments. Nodes that give memory together do so only together, and one that gives it alone only alone: so what is
 *  booked on a group never depends on the order. Source: upstream's memory manager, release 1.24. */

/** `memory`, or huge pages such as `hugepages-2Mi`. */
export type MemoryType = string;

/** What a memory node has of one kind, in bytes. */
export interface MemoryTable {
  readonly total: number;
  readonly systemReserved: number;
  /** For guaranteed pods. */
  readonly allocatable: number;
}

export interface NodeMemory {
  readonly id: number;
  readonly tables: ReadonlyMap<MemoryType, MemoryTable>;
}

/** Memory of one kind that a container has on these nodes together. */
export interface MemoryBlock {
  readonly type: MemoryType;
  readonly sizeBytes: number;
  readonly nodes: readonly number[];
}

export interface MemoryAssignment {
  readonly podUID: string;
  readonly container: string;
  /** An init container's: what it has is the pod's next container's when it has ended. */
  readonly init: boolean;
  readonly blocks: readonly MemoryBlock[];
}

/** A memory node with what is booked on it. */
export interface NodeUse {
  readonly id: number;
  /** How many blocks lie on it. */
  readonly assignments: number;
  /** Nodes with which it gives memory; itself alone while it gives none. */
  readonly group: readonly number[];
  readonly reserved: ReadonlyMap<MemoryType, number>;
}

interface Draft {
  assignments: number;
  group: readonly number[];
  readonly reserved: Map<MemoryType, number>;
}

/** Blocks take from the nodes in order, each as much as it has left. */
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
