/** The operations of all pods, wired to the runtime and the volumes. */
import type { MountedVolume } from '#volumes/types.ts';
import { podIdentity } from '../identity.ts';
import type { OperationDeps } from './deps.ts';
import { createContainerKiller } from './kill-container.ts';
import { discardContainer, removePod } from './remove-pod.ts';
import { createSandbox, stopSandbox } from './sandbox.ts';
import { startContainer } from './start-container.ts';
import type { PodOperations } from './types.ts';

export function createPodOperations(deps: OperationDeps): PodOperations {
  const killer = createContainerKiller(deps);
  /** What the volume manager gave, by pod UID, until the pod's volumes are unmounted. */
  const mounted = new Map<string, ReadonlyMap<string, MountedVolume>>();
  return {
    async mountVolumes(pod, signal) {
      mounted.set(podIdentity(pod).uid, await deps.volumes.mountPod(pod, signal));
    },
    async unmountVolumes(pod) {
      const { uid } = podIdentity(pod);
      await deps.volumes.unmountPod(uid);
      mounted.delete(uid);
      await deps.cgroups.remove(uid);
    },
    createSandbox: (pod, attempt, signal) => createSandbox(deps, pod, attempt, signal),
    stopSandbox: (_pod, sandboxId) => stopSandbox(deps, sandboxId),
    startContainer: (pod, action, signal) =>
      startContainer(deps, pod, action, mounted.get(podIdentity(pod).uid) ?? new Map(), signal),
    killContainer: (pod, action, signal) => killer.kill(pod, action, signal),
    removeContainer: (pod, container) => discardContainer(deps, pod, container),
    removePod: (pod) => removePod(deps, pod),
  };
}
