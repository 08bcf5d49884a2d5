/** Wires the volume manager of pods with its sources of objects and plugins. */
import type { ObjectReader } from '#api/schema/object-reader.ts';
import type { LocalVolumes } from '#volumes/contract/local-volumes.ts';
import type { VolumeManager } from '#volumes/contract/volume-manager.ts';
import type { Csi } from '#volumes/csi/csi.ts';
import { createFlexDrivers } from '#volumes/flex/drivers.ts';
import { createVolumeManager } from '#volumes/manage/manager.ts';
import type { RunProgram } from '#volumes/programs/contract.ts';
import { createVolumeMetrics } from '../../metrics/volume-metrics.ts';
import type { ObjectStore } from '../../objects/store.ts';
import type { OperationDeps } from '../../pods/factory.ts';
import type { PodManager } from '../../pods/pod-manager.ts';
import type { Base } from '../base.ts';
import type { ServerParts } from '../server-parts.ts';
import type { createEmptyDirs } from './empty-dirs.ts';
import { retryFlexPods } from './flex-retries.ts';

interface VolumeParts {
  readonly server: ServerParts | undefined;
  readonly objects: ObjectStore;
  readonly objectsOf: OperationDeps['objectsOf'];
  readonly csi: Csi;
  readonly run: RunProgram;
  readonly localVolumes: LocalVolumes;
  /** Returns the pod manager, once it exists. */
  readonly pods: () => PodManager;
  readonly emptyDirs: Awaited<ReturnType<typeof createEmptyDirs>>['options'];
}

export function createVolumes(
  { config, vocabulary, clock, log, settings, node, plainMetrics }: Base,
  { server, objects, objectsOf, csi, run, emptyDirs, localVolumes, pods }: VolumeParts,
): VolumeManager {
  const { rootDir } = config;
  const { allocatable } = settings;
  const flexDrivers = createFlexDrivers({ run, dir: config.volumePluginDir, nodeName: node });
  const metrics = createVolumeMetrics(plainMetrics, {
    domain: vocabulary.domain,
    desired: () =>
      pods()
        .entries()
        .flatMap(({ pod }) => pod.spec?.volumes ?? []),
  });
  const volumes = createVolumeManager({
    operationDone: metrics.operationDone,
    rootDir,
    csi: csi.volumes,
    run,
    checksPrograms: config.experimentalCheckNodeCapabilitiesBeforeMount,
    emptyDirs,
    localVolumes,
    flexDrivers,
    objects,
    objectsOf,
    ...(server === undefined ? {} : { undoObjects: withSecretsOf(server.objects, objects) }),
    clock,
    log,
    vocabulary,
    allocatable,
    ...(server === undefined ? {} : { accountToken: server.accountToken, expander: server.expander }),
    reportsVolumes: server !== undefined && config.enableControllerAttachDetach,
  });
  flexDrivers.onChange(() => retryFlexPods(pods(), volumes));
  return volumes;
}

/** The volume to tear down may belong to an API pod or to a static pod. */
const withSecretsOf = (server: ObjectReader, own: ObjectReader): ObjectReader => ({
  ...server,
  getSecret: async (namespace, name) =>
    (await own.getSecret(namespace, name)) ?? server.getSecret(namespace, name),
});
