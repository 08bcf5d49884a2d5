/** Claims and volumes reduced to the fields that scheduling reads. */

import type { PersistentVolume, PersistentVolumeClaim } from '#api/gen/core-v1.ts';
import type { CSIStorageCapacity, StorageClass } from '#api/gen/storage-v1.ts';
import type { MigrationOptions } from '#api/meta/csi-migration.ts';

export interface Volumes {
  /** `namespace/name`. */
  claim(key: string): PersistentVolumeClaim | undefined;
  volume(name: string): PersistentVolume | undefined;
  volumesOfClass(storageClass: string): Iterable<PersistentVolume>;
  storageClass(name: string): StorageClass | undefined;
  /** Whether the driver reports how much can be provisioned where. */
  reportsCapacity(driver: string): boolean;
  capacitiesOfClass(storageClass: string): Iterable<CSIStorageCapacity>;
  /** The claim for which the volume was chosen just now. */
  reservedFor(volumeName: string): string | undefined;
  /** Volumes that the node can have, by driver. */
  limits(nodeName: string): ReadonlyMap<string, number>;
  /** Which older sources are volumes of CSI drivers. */
  readonly migration: MigrationOptions;
  /** Names of the older plugins that the node has left to CSI drivers. */
  migrates(nodeName: string): ReadonlySet<string>;
}

export const NO_LIMITS: ReadonlyMap<string, number> = new Map();
export const NO_PLUGINS: ReadonlySet<string> = new Set();

export const NO_VOLUMES: Volumes = {
  claim: () => undefined,
  volume: () => undefined,
  volumesOfClass: () => [],
  storageClass: () => undefined,
  reportsCapacity: () => false,
  capacitiesOfClass: () => [],
  reservedFor: () => undefined,
  limits: () => NO_LIMITS,
  migration: { domain: '', gates: new Set() },
  migrates: () => NO_PLUGINS,
};
