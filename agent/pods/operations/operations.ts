/** Operations of all pods, wired to the runtime and the volumes. */
import type { Pod } from '#api/gen/core-v1.ts';
import type { MountedVolume } from '#volumes/contract/volume-manager.ts';
import { podFullName, podIdentity } from '../../pod-identity/identity.ts';
import type { OperationDeps } from './deps.ts';
import { createContainerKiller } from './kill-container.ts';
import { discardContainer, removePod } from './remove-pod.ts';
import { createSandbox, stopSandbox } from './sandbox.ts';
import { startContainer } from './start-container.ts';
import type { PodOperations } from './types.ts';

export function createPodOperations(deps: OperationDeps): PodOperations {
  const waited = <T>(what: string, work: Promise<T>): Promise<T> => deps.waits?.during(what, work) ?? work;
  const fullName = (pod: Pod): string => podFullName(podIdentity(pod));
  const killer = createContainerKiller(deps);
  /** Mounted volumes by pod UID, until the volumes of the pod are unmounted. */
  const mounted = new Map<string, ReadonlyMap<string, MountedVolume>>();
  return {
    async mountVolumes(pod, signal) {
      const mounting = deps.volumes.mountPod(pod, signal);
      mounted.set(
        podIdentity(pod).uid,
        await waited(`volumes of pod ${fullName(pod)} to be mounted`, mounting),
      );
    },
    async unmountVolumes(pod) {
      const { uid } = podIdentity(pod);
      await waited(`volumes of pod ${fullName(pod)} to be unmounted`, deps.volumes.unmountPod(uid));
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
