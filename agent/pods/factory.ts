/** Creates pod workers: connects each with the operations, the record, the probes and the status of its pod. */
import type { Pod } from '#api/gen/core-v1.ts';
import type { Waits } from '#api/kit/waits.ts';
import { qosClass } from '#api/schema/qos-class.ts';
import type { MountedVolume, VolumeManager } from '#volumes/contract/volume-manager.ts';
import type { PodCgroups } from '../cgroups/pod-cgroups.ts';
import type { PodMetrics } from '../metrics/pod-metrics.ts';
import { type IdentifiedPod, type PodIdentity, podFullName } from '../pod-identity/identity.ts';
import type { ProbeManager } from '../probes/manager.ts';
import type { ProbeMemory } from '../probes/memory.ts';
import { probeTargets } from '../probes/targets.ts';
import type { ManifestOrigin } from '../sources/types.ts';
import { measurePod } from './measure-pod.ts';
import { createContainerKiller, type KillDeps } from './operations/kill-container.ts';
import {
  type DiscardContainerDeps,
  discardContainer,
  type RemovePodDeps,
  removePod,
} from './operations/remove-pod.ts';
import {
  type CreateSandboxDeps,
  createSandbox,
  type StopSandboxDeps,
  stopSandbox,
} from './operations/sandbox.ts';
import { type StartDeps, startContainer } from './operations/start-container.ts';
import { createRecordWriter, type RecordStore, type RecordWriter } from './record/record.ts';
import { probeFindings } from './status/container-status.ts';
import { podStatus } from './status/status.ts';
import { PodWorker } from './worker.ts';
import type { PodOperations, PodStart } from './worker-contract.ts';

interface VolumeDeps {
  readonly volumes: Pick<VolumeManager, 'mountPod' | 'unmountPod'>;
  readonly cgroups: Pick<PodCgroups, 'remove'>;
  /** Reports mounts and unmounts that take long. */
  readonly waits?: Pick<Waits, 'during'>;
}

/** Dependencies of the operations on pods. */
export type OperationDeps = VolumeDeps &
  CreateSandboxDeps &
  StopSandboxDeps &
  StartDeps &
  KillDeps &
  DiscardContainerDeps &
  RemovePodDeps;

export interface WorkerFactoryDeps extends OperationDeps {
  readonly probes: ProbeManager;
  readonly records: RecordStore;
  readonly memory: Pick<ProbeMemory, 'previous' | 'note'>;
  /** Scheme of container IDs, such as `containerd`. */
  readonly runtimeName: () => string;
  readonly keepTerminatedVolumes: boolean;
  /** Called after each change of a published status. */
  readonly changed: () => void;
  /** Measures the operations; none by default. */
  readonly metrics?: PodMetrics | undefined;
}

export function createWorkerFactory(
  deps: WorkerFactoryDeps,
): (start: PodStart, origin: ManifestOrigin) => PodWorker {
  const { clock, view, probes, memory, keepTerminatedVolumes } = deps;
  const { hostIPs } = deps.settings;
  return (start, origin) => {
    const { pod, identity, startedAtMs, terminal } = start;
    const log = deps.log.child({ pod: podFullName(identity), podUID: identity.uid });
    const record = createRecordWriter((next) => deps.records.save(next), {
      pod,
      origin,
      startedAtMs,
      terminal,
    });
    const measured = measurePod({ clock, metrics: deps.metrics }, start);
    return new PodWorker(
      {
        clock,
        log,
        view,
        operations: measured.operations(createPodOperations(deps, identity, record)),
        syncProbes: (current, observed) => {
          const targets =
            observed === undefined
              ? undefined
              : probeTargets(current, observed, hostIPs()[0] ?? '', memory.previous);
          probes.sync(identity.uid, targets);
        },
        probeVerdict: (containerId) => probes.verdict(containerId),
        save: record.write,
        status: (facts) =>
          podStatus({
            ...facts,
            hostIPs: hostIPs(),
            qosClass: qosClass(pod),
            runtimeName: deps.runtimeName(),
            nowMs: clock.now(),
          }),
        onStatus: (status) => {
          log.debug({ phase: status.phase }, 'Pod status changed');
          measured.status(status);
          memory.note(identity.uid, probeFindings(pod, status));
          deps.changed();
        },
        warn: (reason, message, container) => deps.event(pod, 'Warning', reason, message, container),
        keepTerminatedVolumes,
      },
      start,
    );
  };
}

/** The record is persisted before anything of the pod is created, so that a record exists for everything that
 *  must be cleaned up. It is closed once the directory of the pod is being removed: a pod can still reach its
 *  terminal phase then, and a write would fail, or would create the directory again. */
function createPodOperations(
  deps: OperationDeps,
  identity: PodIdentity,
  record: RecordWriter,
): PodOperations {
  const { uid } = identity;
  const fullName = podFullName(identity);
  const identified = (pod: Pod): IdentifiedPod => ({ ...identity, pod });
  const reported = <T>(what: string, work: Promise<T>): Promise<T> => deps.waits?.during(what, work) ?? work;
  const killer = createContainerKiller(deps);
  let mounted: ReadonlyMap<string, MountedVolume> = new Map();
  return {
    async mountVolumes(pod, signal) {
      await record.write({});
      const mounting = deps.volumes.mountPod(pod, signal);
      mounted = await reported(`volumes of pod ${fullName} to be mounted`, mounting);
    },
    async unmountVolumes() {
      await reported(`volumes of pod ${fullName} to be unmounted`, deps.volumes.unmountPod(uid));
      mounted = new Map();
      await deps.cgroups.remove(uid);
    },
    createSandbox: (pod, attempt, signal) => createSandbox(deps, identified(pod), attempt, signal),
    stopSandbox: (sandboxId) => stopSandbox(deps, sandboxId),
    startContainer: (pod, action, signal) => startContainer(deps, identified(pod), action, mounted, signal),
    killContainer: (pod, action, signal) => killer.kill(pod, action, signal),
    removeContainer: (container) => discardContainer(deps, identity, container),
    async removePod() {
      await record.close();
      await removePod(deps, identity);
    },
  };
}
