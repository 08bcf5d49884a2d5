/** Operations of one pod: the effects of its worker, one function per kind of action. */
import type { Pod } from '#api/gen/core-v1.ts';
import type { Waits } from '#api/kit/waits.ts';
import type { MountedVolume, VolumeManager } from '#volumes/contract/volume-manager.ts';
import type { PodCgroups } from '../../cgroups/pod-cgroups.ts';
import type { ObservedContainer } from '../../observe/types.ts';
import { type IdentifiedPod, type PodIdentity, podFullName } from '../../pod-identity/identity.ts';
import type { ActionOf } from '../decide/decision-types.ts';
import { createContainerKiller, type KillDeps } from './kill-container.ts';
import { type DiscardContainerDeps, discardContainer, type RemovePodDeps, removePod } from './remove-pod.ts';
import { type CreateSandboxDeps, createSandbox, type StopSandboxDeps, stopSandbox } from './sandbox.ts';
import { type StartDeps, type StartOutcome, startContainer } from './start-container.ts';

/** Each function is idempotent and throws on failure; `signal` fires when its result is no longer needed. */
export interface PodOperations {
  mountVolumes(pod: Pod, signal: AbortSignal): Promise<void>;
  unmountVolumes(): Promise<void>;
  createSandbox(pod: Pod, attempt: number, signal: AbortSignal): Promise<void>;
  stopSandbox(sandboxId: string): Promise<void>;
  startContainer(pod: Pod, action: ActionOf<'startContainer'>, signal: AbortSignal): Promise<StartOutcome>;
  /** Runs the preStop hook, sends the stop signal, and kills at the end of the grace period. */
  killContainer(pod: Pod, action: ActionOf<'killContainer'>, signal: AbortSignal): Promise<void>;
  removeContainer(container: ObservedContainer): Promise<void>;
  /** Removes containers, sandboxes, logs and directories of the pod. */
  removePod(): Promise<void>;
}

interface VolumeDeps {
  readonly volumes: Pick<VolumeManager, 'mountPod' | 'unmountPod'>;
  readonly cgroups: Pick<PodCgroups, 'remove'>;
  /** Reports mounts and unmounts that take long. */
  readonly waits?: Pick<Waits, 'during'>;
}

export type OperationDeps = VolumeDeps &
  CreateSandboxDeps &
  StopSandboxDeps &
  StartDeps &
  KillDeps &
  DiscardContainerDeps &
  RemovePodDeps;

/** @param identity identity of the pods that are passed to the operations */
export function createPodOperations(deps: OperationDeps, identity: PodIdentity): PodOperations {
  const { uid } = identity;
  const fullName = podFullName(identity);
  const identified = (pod: Pod): IdentifiedPod => ({ ...identity, pod });
  const waited = <T>(what: string, work: Promise<T>): Promise<T> => deps.waits?.during(what, work) ?? work;
  const killer = createContainerKiller(deps);
  let mounted: ReadonlyMap<string, MountedVolume> = new Map();
  return {
    async mountVolumes(pod, signal) {
      const mounting = deps.volumes.mountPod(pod, signal);
      mounted = await waited(`volumes of pod ${fullName} to be mounted`, mounting);
    },
    async unmountVolumes() {
      await waited(`volumes of pod ${fullName} to be unmounted`, deps.volumes.unmountPod(uid));
      mounted = new Map();
      await deps.cgroups.remove(uid);
    },
    createSandbox: (pod, attempt, signal) => createSandbox(deps, identified(pod), attempt, signal),
    stopSandbox: (sandboxId) => stopSandbox(deps, sandboxId),
    startContainer: (pod, action, signal) => startContainer(deps, identified(pod), action, mounted, signal),
    killContainer: (pod, action, signal) => killer.kill(pod, action, signal),
    removeContainer: (container) => discardContainer(deps, identity, container),
    removePod: () => removePod(deps, identity),
  };
}
