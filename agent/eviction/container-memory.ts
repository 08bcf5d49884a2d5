/** Memory usage of containers from the kernel's own files. Under memory pressure the runtime may respond
 *  slowly, and the eviction must not wait for it. */
import {
  type MemoryHierarchy,
  type ReadText,
  readCgroupMemory,
  workingSet,
} from '#eviction/observe/memory.ts';
import type { ContainerMemory } from './candidates.ts';

export interface ContainerMemoryDeps {
  readonly readText: ReadText;
  /** Names in a directory; rejects when it does not exist. */
  readonly namesIn: (path: string) => Promise<readonly string[]>;
}

/** Identity of a running container; runtimes name its cgroup by the ID, with their own affixes. */
export interface RunningContainer {
  readonly id: string;
  readonly name: string;
}

/** Returns the working set of each running container of the pod in bytes.
 *  @param podPath of the pod's cgroup in the hierarchy
 *  @returns undefined unless all of them are readable */
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
    // It has just exited, or its cgroup is elsewhere: fall back to the runtime.
    return undefined;
  }
}
