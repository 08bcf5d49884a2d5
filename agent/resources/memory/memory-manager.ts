/** Memory manager of policy `Static`: assigns memory of chosen NUMA nodes to guaranteed containers.
 *  Source: memory management, document 3 §4.3; upstream's memory manager, release 1.24. */
import type { Pod } from '#api/gen/core-v1.ts';
import type { AllocatedMemory, ContainerRequest, ResourceProvider } from '../contract.ts';
import { requestsOf } from '../requests.ts';
import { staleState } from '../state/state-error.ts';
import type { StateFile } from '../state/state-file.ts';
import { maskOf, type ProviderHints } from '../topology/hints.ts';
import {
  formatMemoryState,
  MEMORY_POLICY,
  MemoryStateError,
  memoryStateError,
  parseMemoryState,
} from './memory-state.ts';
import type { MemoryAssignment, NodeMemory } from './node-memory.ts';
import {
  assignMemory,
  type MemoryAmounts,
  memoryAmounts,
  memoryHints,
  podMemoryAmounts,
  releaseMemory,
} from './static-memory.ts';

export interface MemoryManager extends ResourceProvider {
  held(podUID: string, container: string): readonly AllocatedMemory[];
  /** Allocatable memory, by NUMA node. */
  most(): readonly AllocatedMemory[];
}

/** Reads the persisted assignments. @throws ResourceStateError */
async function readMemoryState(
  file: StateFile,
  nodes: readonly NodeMemory[],
): Promise<readonly MemoryAssignment[]> {
  const text = await file.read();
  if (text === undefined) return [];
  try {
    const state = parseMemoryState(text);
    if (state.policy !== MEMORY_POLICY) {
      const what = `was written with the memory manager policy ${state.policy}, not ${MEMORY_POLICY}`;
      throw staleState(file.path, what);
    }
    const error = memoryStateError(state, nodes);
    if (error !== undefined) throw staleState(file.path, error);
    return state.assignments;
  } catch (thrown) {
    if (thrown instanceof MemoryStateError) throw staleState(file.path, thrown.message, thrown);
    throw thrown;
  }
}

/** @throws ResourceStateError */
export async function createMemoryManager(
  { file }: { readonly file: StateFile },
  nodes: readonly NodeMemory[],
): Promise<MemoryManager> {
  let assignments = await readMemoryState(file, nodes);
  const save = (): void => file.save(formatMemoryState({ policy: MEMORY_POLICY, nodes, assignments }));
  save();

  const own = (podUID: string, container: string): MemoryAssignment | undefined =>
    assignments.find((one) => one.podUID === podUID && one.container === container);

  /** Existing assignments of a container stay in place. */
  function hints(podUID: string, amounts: MemoryAmounts, had: MemoryAssignment | undefined): ProviderHints {
    if (amounts.size === 0) return { memory: undefined };
    const [first] = had?.blocks ?? [];
    const found =
      first === undefined
        ? memoryHints(nodes, assignments, { podUID, amounts })
        : [{ nodes: maskOf(first.nodes), preferred: true }];
    return Object.fromEntries([...amounts.keys()].map((type) => [type, found]));
  }

  function take(next: readonly MemoryAssignment[]): void {
    if (next === assignments) return;
    assignments = next;
    save();
  }

  return {
    name: 'memory',
    hints: ({ pod, container }: ContainerRequest) => {
      const podUID = pod.metadata?.uid ?? '';
      return hints(podUID, memoryAmounts(pod, container), own(podUID, container.name));
    },
    podHints: (pod: Pod) => {
      const podUID = pod.metadata?.uid ?? '';
      const had = assignments.find((one) => one.podUID === podUID);
      return hints(podUID, podMemoryAmounts(pod, requestsOf(pod)), had);
    },
    allocate({ pod, container, init }, where) {
      const podUID = pod.metadata?.uid ?? '';
      const amounts = memoryAmounts(pod, container);
      take(assignMemory(nodes, assignments, { podUID, container: container.name, init, amounts }, where));
    },
    holders: () => new Set(assignments.map(({ podUID }) => podUID)),
    release(podUID) {
      const left = releaseMemory(assignments, podUID);
      if (left.length !== assignments.length) take(left);
    },
    async grant({ pod, container }) {
      await file.saved();
      const blocks = own(pod.metadata?.uid ?? '', container.name)?.blocks ?? [];
      const on = [...new Set(blocks.flatMap((block) => block.nodes))].toSorted((a, b) => a - b);
      return { cpusetMems: on.join(',') };
    },
    held: (podUID, container) => own(podUID, container)?.blocks ?? [],
    most: () =>
      nodes.flatMap(({ id, tables }) =>
        [...tables].map(([type, { allocatable }]) => ({ type, sizeBytes: allocatable, nodes: [id] })),
      ),
  };
}
