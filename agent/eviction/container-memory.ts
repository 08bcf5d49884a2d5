/** Memory of containers by the kernel's own files. A runtime that waits for memory itself may take long to tell of it,
 *  and whom to end has to be known before that. */
import {
  type MemoryHierarchy,
  type ReadText,
  readCgroupMemory,
  workingSet,
} from '#eviction/observe/memory.ts';
import type { ContainerMemory } from './candidates.ts';

export interface ContainerMemoryDeps {
  readonly readText: ReadText;
  /** Names of what is in a folder; rejects where it is not there. */
  readonly namesIn: (path: string) => Promise<readonly string[]>;
}

/** What is known of a container: runtimes name its cgroup by its id, with words of their own about it. */
export interface RunningContainer {
  readonly id: string;
  readonly name: string;
}

/** Bytes that each of the pod's running containers uses, as they count for evictions.
 *  @param podPath of the pod's cgroup in the hierarchy
 *  @returns undefined unless all could be read */
export async function readContainerMemory(
  { readText, namesIn }: ContainerMemoryDeps,
  hierarchy: MemoryHierarchy,
  podPath: string,
  containers: readonly RunningContainer[],
): Promise<ContainerMemory | undefined> {
  try {
    const folders = await namesIn(`${hierarchy.mountPoint}${podPath}`);
    const used = containers.map(async ({ id, name }) => {
      const folder = folders.find((one) => one.includes(id));
      if (folder === undefined) throw new Error(`container ${id} has no cgroup in ${podPath}`);
      const use = await readCgroupMemory(hierarchy, `${podPath}/${folder}`, readText);
      return [name, workingSet(use)] as const;
    });
    return new Map(await Promise.all(used));
  } catch {
    // It has just ended, or its cgroup is somewhere else: the runtime is asked.
    return undefined;
  }
}
