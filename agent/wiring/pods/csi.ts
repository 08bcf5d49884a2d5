/** Wires CSI on this node: driver registration, waiting volumes, and the API server. */

import type { Pod } from '#api/gen/core-v1.ts';
import { FEATURE_GATES, namedGateEnabled } from '#api/schema/feature-gates.ts';
import type { VolumeManager } from '#volumes/contract/volume-manager.ts';
import { type Csi, createCsi } from '#volumes/csi/csi.ts';
import type { PluginHandler } from '#volumes/csi/registration.ts';
import type { ObjectStore } from '../../objects/store.ts';
import type { PodManager } from '../../pods/pod-manager.ts';
import type { Base } from '../base.ts';
import type { ServerParts } from '../server-parts.ts';

/** Returns the enabled feature gates, by name. */
export const gatesOf = ({ config }: Pick<Base, 'config'>): ReadonlySet<string> =>
  new Set(
    FEATURE_GATES.map(({ name }) => name).filter((name) => namedGateEnabled(config.featureGates, name)),
  );

/** @param objects from manifests, used without an API server
 *  @param handlers of plugins of other types */
export function createCsiSubsystem(
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

/** Reports whether the pod has a source that may resolve to a CSI volume. */
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

/** Retries pods whose volumes may be waiting for CSI. */
export function retryCsiPods(manager: PodManager, volumes: Pick<VolumeManager, 'retryPod'>): void {
  for (const worker of manager.workers()) {
    if (!mayBeCsi(worker.pod)) continue;
    volumes.retryPod(worker.pod.metadata?.uid ?? '');
    worker.retry();
  }
}
