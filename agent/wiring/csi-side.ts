/** CSI on this node, wired: drivers that register, the volumes that wait for them, and what the server is told. */
import { FEATURE_GATES, namedGateEnabled } from '#api/schema/feature-gates.ts';
import type { Pod } from '#api/schema/gen/core-v1.ts';
import { type Csi, createCsi } from '#volumes/csi/csi.ts';
import type { PluginHandler } from '#volumes/csi/registration.ts';
import type { VolumeManager } from '#volumes/types.ts';
import type { ObjectStore } from '../objects/store.ts';
import type { PodManager } from '../pods/pod-manager.ts';
import type { Base } from './base.ts';
import type { ServerParts } from './server-parts.ts';

/** Gates that are on, by name. */
export const gatesOf = ({ config }: Pick<Base, 'config'>): ReadonlySet<string> =>
  new Set(
    FEATURE_GATES.map(({ name }) => name).filter((name) => namedGateEnabled(config.featureGates, name)),
  );

/** @param objects from manifests, which count where there is no API server
 *  @param handlers of plugins of other types */
export function createCsiSide(
  base: Base,
  objects: Pick<ObjectStore, 'getCSIDriver'>,
  server: Pick<ServerParts, 'driverObject' | 'attacher'> | undefined,
  handlers: ReadonlyMap<string, PluginHandler> = new Map(),
): Csi {
  const { config, clock, log, vocabulary } = base;
  return createCsi({
    rootDir: config.rootDir,
    clock,
    log,
    waits: base.waits,
    gates: gatesOf(base),
    apiGroupDomain: vocabulary.apiGroupDomain,
    handlers,
    driverObject: server?.driverObject ?? objects.getCSIDriver,
    ...(server === undefined ? {} : { attacher: server.attacher }),
  });
}

/** Sources that may come to a CSI volume. */
const mayBeCsi = ({ spec }: Pod): boolean =>
  spec?.volumes?.some(
    (volume) =>
      volume.csi !== undefined ||
      volume.persistentVolumeClaim !== undefined ||
      volume.ephemeral !== undefined ||
      volume.awsElasticBlockStore !== undefined ||
      volume.azureDisk !== undefined ||
      volume.cinder !== undefined ||
      volume.gcePersistentDisk !== undefined ||
      volume.vsphereVolume !== undefined,
  ) === true;

/** Has pods whose volumes may be waiting for something of CSI try them again. */
export function retryCsiPods(manager: PodManager, volumes: Pick<VolumeManager, 'retryPod'>): void {
  for (const worker of manager.workers()) {
    if (!mayBeCsi(worker.pod)) continue;
    volumes.retryPod(worker.pod.metadata?.uid ?? '');
    worker.retry();
  }
}
