/** Memory of pods when one of them has to end. */
import { readdir, readFile } from 'node:fs/promises';
import type { Pod } from '#api/schema/gen/core-v1.ts';
import type { MemoryHierarchy } from '#eviction/observe/memory.ts';
import type { PodCgroups } from '../cgroups/pod-cgroups.ts';
import type { ContainerMemory } from '../eviction/candidates.ts';
import { type ContainerMemoryDeps, readContainerMemory } from '../eviction/container-memory.ts';
import { podIdentity } from '../pods/identity.ts';
import type { RuntimeSide } from './runtime-side.ts';

/** For as long a runtime may think about memory while that is short, in ms: without an answer all is looked at anew. */
const MEMORY_CALL_MS = 5000;
const CGROUP_FILES: ContainerMemoryDeps = {
  readText: (path) => readFile(path, 'utf8'),
  namesIn: (path) => readdir(path),
};

export type MemoryOfPods = ReadonlyMap<string, ContainerMemory>;

/** Memory of all running containers as the runtime tells it, in one call. @throws CriError */
async function memoryByRuntime({ connection, view }: RuntimeSide): Promise<MemoryOfPods> {
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

/** Memory of all running containers by their cgroups; the runtime is asked where one has none of the pod's own.
 *  @throws CriError */
export async function memoryOfPods(
  pods: readonly Pod[],
  runtimeSide: RuntimeSide,
  cgroups: Pick<PodCgroups, 'pathOf'>,
  hierarchy: MemoryHierarchy | undefined,
): Promise<MemoryOfPods> {
  if (hierarchy === undefined) return memoryByRuntime(runtimeSide);
  const found = await Promise.all(
    pods.map(async (pod) => {
      const { uid } = podIdentity(pod);
      const containers = runtimeSide.view.pod(uid).containers.filter(({ state }) => state === 'running');
      const path = cgroups.pathOf(pod);
      if (containers.length === 0) return [uid, new Map()] as const;
      if (path === undefined) return [uid, undefined] as const;
      return [uid, await readContainerMemory(CGROUP_FILES, hierarchy, path, containers)] as const;
    }),
  );
  const told = found.some(([, memory]) => memory === undefined)
    ? await memoryByRuntime(runtimeSide)
    : new Map<string, ContainerMemory>();
  const known = found.flatMap(([uid, memory]) => (memory === undefined ? [] : [[uid, memory] as const]));
  return new Map([...told, ...known]);
}
