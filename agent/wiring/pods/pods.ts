/** Wires pods with their sources, volumes, images and resources. */
import { join } from 'node:path';
import type { Pod } from '#api/gen/core-v1.ts';
import type { ObjectReader } from '#api/schema/object-reader.ts';
import type { LocalVolumes } from '#volumes/contract/local-volumes.ts';
import type { VolumeManager } from '#volumes/contract/volume-manager.ts';
import type { Csi } from '#volumes/csi/csi.ts';
import type { RunProgram } from '#volumes/programs/contract.ts';
import { createRunProgram } from '#volumes/programs/run-program.ts';
import type { ProjectQuotas } from '#volumes/usage/project-quotas.ts';
import { featureEnabled } from '../../config/feature-gates.ts';
import type { ImageManager } from '../../images/image-manager.ts';
import { createObjectStore, type ObjectStore } from '../../objects/store.ts';
import { createWorkerFactory } from '../../pods/factory.ts';
import { createObjectWatcher } from '../../pods/object-watcher.ts';
import type { CapacityRetry } from '../../pods/pod-admission.ts';
import { createPodEvent, type PodEvent } from '../../pods/pod-event.ts';
import { PodManager, type PodManagerDeps } from '../../pods/pod-manager.ts';
import { createRecordStore, type RecordStore } from '../../pods/record/record.ts';
import { createVolumeRefresh, type VolumeRefresh } from '../../pods/volume-refresh.ts';
import type { PodWorker } from '../../pods/worker.ts';
import type { ExecSync } from '../../probes/exec.ts';
import { createExecCalls, type ExecCalls } from '../../probes/exec-sync.ts';
import { createProbeManager, type ProbeManager } from '../../probes/manager.ts';
import { createProbeMemory, type ProbeMemory } from '../../probes/memory.ts';
import { createProbeRunner } from '../../probes/runner.ts';
import type { ResourceManagers } from '../../resources/contract.ts';
import type { Devices } from '../../resources/devices/devices.ts';
import type { AppliedStore } from '../../sources/applied/applied.ts';
import type { SourceManager } from '../../sources/manager.ts';
import type { Base } from '../base.ts';
import type { RuntimeSubsystem } from '../runtime.ts';
import type { ServerParts } from '../server-parts.ts';
import { type AdmissionSubsystem, createAdmissionSubsystem } from './admission.ts';
import { type CgroupSubsystem, createCgroupSubsystem } from './cgroups.ts';
import { createPluginSubsystem } from './device-plugins.ts';
import { createEmptyDirs } from './empty-dirs.ts';
import { type ClaimSubsystem, createClaimSubsystem } from './local-volumes.ts';
import { handlerOf, operationDeps, probeIdentity } from './operations.ts';
import { createResourceSubsystem } from './resource-managers.ts';
import { createPodSources } from './sources.ts';
import { createVolumes } from './volumes.ts';

/** Pods, and everything that they are created from. */
export interface PodSubsystem {
  readonly manager: PodManager;
  readonly objects: ObjectStore;
  readonly volumes: VolumeManager;
  /** Volumes that the agent creates for claims. */
  readonly localVolumes: LocalVolumes;
  /** Refreshes the content of a pod's volumes. Never rejects. */
  readonly refreshVolumes: (pod: Pod) => Promise<void>;
  /** CPUs, NUMA memory and devices of containers. */
  readonly resources: ResourceManagers;
  /** Device plugins; undefined if the feature gate is disabled. */
  readonly devices: Devices | undefined;
  readonly probes: ProbeManager;
  readonly records: RecordStore;
  readonly memory: ProbeMemory;
  readonly sources: SourceManager;
  readonly applied: AppliedStore;
  /** Pods waiting for capacity; undefined on a node with an API server. */
  readonly waiting: CapacityRetry | undefined;
  /** Commands in flight in containers. */
  readonly execs: Pick<ExecCalls, 'setUp'>;
  /** Runs programs of the host. */
  readonly run: RunProgram;
  /** CSI drivers of this node. */
  readonly csi: Csi;
  readonly cgroupSubsystem: CgroupSubsystem;
  /** State of images. */
  readonly images: Pick<ImageManager, 'invalidateImage'>;
  /** Project quota usage of emptyDir volumes, if enabled. */
  readonly quotas: ProjectQuotas | undefined;
}

/** @param server undefined for a standalone agent */
export async function createPodSubsystem(
  base: Base,
  runtimeSubsystem: RuntimeSubsystem,
  server?: ServerParts,
): Promise<PodSubsystem> {
  const { config, clock, log } = base;
  const { rootDir } = config;
  const event = createPodEvent(base.events);
  const objects = createObjectStore();
  const run = createRunProgram({ mounterPath: config.experimentalMounterPath });
  const claims = createClaimSubsystem(base, objects, run);
  const { localVolumes } = claims;
  const objectsOf = (pod: Pod): ObjectReader =>
    server?.owns(pod) === true ? server.objects : claims.readerFor(pod);
  const { options: emptyDirs, quotas } = await createEmptyDirs(base);
  const { devices, csi } = await createPluginSubsystem(base, objects, server);
  const pods = (): PodManager => manager;
  const volumeParts = { objects, objectsOf, csi, run, emptyDirs, localVolumes, pods };
  const volumes = createVolumes(base, { server, ...volumeParts });
  const refreshPod = volumes.refreshPod.bind(volumes);
  const volumeRefresh = createVolumeRefresh({ clock, refreshPod, log });
  const resources = await createResourceSubsystem(base, runtimeSubsystem, devices);
  const records = createRecordStore(join(rootDir, 'pods'));
  const memory = createProbeMemory({ log }, join(rootDir, 'pods'));
  const execs = createExecCalls({ runtime: runtimeSubsystem.connection.runtime, clock });
  const probes = createProbes(base, execs.execSync, event, (uid) => workerOf(manager, uid)?.wake());
  const cgroupSubsystem = await createCgroupSubsystem(base, runtimeSubsystem, event);
  const acting = await operationDeps(base, runtimeSubsystem, {
    event,
    cgroups: cgroupSubsystem.cgroups,
    objectsOf,
    serviceEnv: server?.serviceEnv ?? (() => Promise.resolve({})),
    runtimeHandler: server?.runtimeHandler ?? handlerOf,
    volumes,
    resources,
    execSync: execs.execSync,
  });
  const createWorker = createWorkerFactory({
    ...acting,
    probes,
    records,
    memory,
    runtimeName: () => runtimeSubsystem.identity.name(),
    keepTerminatedVolumes: config.keepTerminatedPodVolumes,
    changed: () => base.changes.notify(),
    metrics: base.podMetrics,
  });
  const { refuse, waiting } = await createAdmissionSubsystem(base, { server, resources, pods });
  const parts = { createWorker, records, claims, volumes, volumeRefresh, resources, server, event, refuse };
  const manager = createManager(base, parts);
  const { applied, sources, report } = createPodSources(base, server);
  const watching = { objects, sources, manager, volumes, refresh: volumeRefresh.refresh, report };
  createObjectWatcher(server === undefined ? watching : { ...watching, server });
  claims.follow(sources);
  return {
    manager,
    objects,
    volumes,
    localVolumes,
    refreshVolumes: volumeRefresh.refresh,
    resources,
    devices,
    probes,
    records,
    memory,
    sources,
    applied,
    waiting,
    execs,
    run,
    csi,
    cgroupSubsystem,
    quotas,
    images: acting.images,
  };
}

const workerOf = (manager: PodManager, podUID: string): PodWorker | undefined =>
  manager.workers().find(({ pod }) => pod.metadata?.uid === podUID);

interface ManagerParts {
  readonly createWorker: PodManagerDeps['createWorker'];
  readonly records: RecordStore;
  readonly claims: Pick<ClaimSubsystem, 'release'>;
  readonly volumes: VolumeManager;
  readonly volumeRefresh: VolumeRefresh;
  readonly resources: ResourceManagers;
  readonly server: ServerParts | undefined;
  readonly refuse: AdmissionSubsystem['refuse'];
  readonly event: PodEvent;
}

function createManager(
  base: Base,
  { createWorker, records, claims, volumes, volumeRefresh, resources, server, refuse, event }: ManagerParts,
): PodManager {
  const { clock, log, vocabulary } = base;
  return new PodManager({
    clock,
    log,
    createWorker,
    versionOf: ({ metadata }) => `${metadata?.uid}/${metadata?.annotations?.[vocabulary.configHash]}`,
    changed: () => base.changes.notify(),
    forget: async (podUID) => {
      await records.remove(podUID);
      await claims.release(podUID);
      resources.release(podUID);
      volumeRefresh.forget(podUID);
    },
    refuse,
    adopted: (pod) => resources.adopt(pod),
    preempted: base.counts.preempted,
    warned: (pod, reason, message) => event(pod, 'Warning', reason, message),
    ...(server === undefined ? {} : { ended: server.ended }),
    updated: (pod) => {
      volumes.retryPod(pod.metadata?.uid ?? '');
      void volumeRefresh.refresh(pod);
    },
  });
}

function createProbes(
  base: Base,
  execSync: ExecSync,
  event: PodEvent,
  onChange: (podUID: string) => void,
): ProbeManager {
  const run = createProbeRunner({
    execSync,
    ...probeIdentity(base),
    grpcProbes: featureEnabled(base.config, 'GRPCContainerProbe'),
  });
  return createProbeManager(
    { clock: base.clock, run, onChange, event },
    { probeGracePeriod: featureEnabled(base.config, 'ProbeTerminationGracePeriod') },
  );
}
