/** Memory usage of pods, for eviction ranking. */
import { readdir, readFile } from 'node:fs/promises';
import type { Pod } from '#api/gen/core-v1.ts';
import type { MemoryHierarchy } from '#eviction/observe/memory.ts';
import type { PodCgroups } from '../../cgroups/pod-cgroups.ts';
import type { ContainerMemory } from '../../eviction/candidates.ts';
import { type ContainerMemoryDeps, readContainerMemory } from '../../eviction/container-memory.ts';
import { podIdentity } from '../../pod-identity/identity.ts';
import type { RuntimeSubsystem } from '../runtime.ts';

/** Timeout for the runtime under memory pressure, in ms: without a response, everything is measured again. */
const MEMORY_CALL_MS = 5000;
const CGROUP_FILES: ContainerMemoryDeps = {
  readText: (path) => readFile(path, 'utf8'),
  namesIn: (path) => readdir(path),
};

export type MemoryOfPods = ReadonlyMap<string, ContainerMemory>;

/** Returns the memory of all running containers as reported by the runtime in one call. @throws CriError */
async function memoryByRuntime({ connection, view }: RuntimeSubsystem): Promise<MemoryOfPods> {
  const { stats } = await connection.runtime.listContainerStats({}, { timeoutMs: MEMORY_CALL_MS });
  const pods = new Map<string, Map<string, number | undefined>>();
  for (const { attributes, memory } of stats) {
    const container = view.container(attributes?.id ?? '');
    if (container?.state !== 'running') continue;
    const ofPod = pods.get(container.podUID) ?? new Map<string, number | undefined>();
    const used = memory?.workingSetBytes?.value;
    ofPod.set(container.name, used === undefined ? undefined : Number(used));
    pods.set(container.podUID, ofPod);
  }
  return pods;
}

/** Returns the memory of all running containers by their cgroups; by the runtime if a container has no cgroup
 *  below that of its pod.
 *  @throws CriError */
export async function memoryOfPods(
  pods: readonly Pod[],
  runtimeSubsystem: RuntimeSubsystem,
  cgroups: Pick<PodCgroups, 'pathOf'>,
  hierarchy: MemoryHierarchy | undefined,
): Promise<MemoryOfPods> {
  if (hierarchy === undefined) return memoryByRuntime(runtimeSubsystem);
  const found = await Promise.all(
    pods.map(async (pod) => {
      const { uid } = podIdentity(pod);
      const containers = runtimeSubsystem.view.pod(uid).containers.filter(({ state }) => state === 'running');
      const path = cgroups.pathOf(pod);
      if (containers.length === 0) return [uid, new Map()] as const;
      if (path === undefined) return [uid, undefined] as const;
      return [uid, await readContainerMemory(CGROUP_FILES, hierarchy, path, containers)] as const;
    }),
  );
  const reported = found.some(([, memory]) => memory === undefined)
    ? await memoryByRuntime(runtimeSubsystem)
    : new Map<string, ContainerMemory>();
  const known = found.flatMap(([uid, memory]) => (memory === undefined ? [] : [[uid, memory] as const]));
  return new Map([...reported, ...known]);
}
