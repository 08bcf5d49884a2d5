/** Claims and volumes as the scheduler sees them. */
import type { PersistentVolume, PersistentVolumeClaim } from '#api/schema/gen/core-v1.ts';
import type { StorageClass } from '#api/schema/gen/storage-v1.ts';

export interface Volumes {
  /** `namespace/name`. */
  claim(key: string): PersistentVolumeClaim | undefined;
  volume(name: string): PersistentVolume | undefined;
  volumesOfClass(storageClass: string): Iterable<PersistentVolume>;
  storageClass(name: string): StorageClass | undefined;
  /** The claim for which the volume was chosen just now. */
  reservedFor(volumeName: string): string | undefined;
  /** Volumes that the node can have, by driver. */
  limits(nodeName: string): ReadonlyMap<string, number>;
}

export const NO_LIMITS: ReadonlyMap<string, number> = new Map();

export const NO_VOLUMES: Volumes = {
  claim: () => undefined,
  volume: () => undefined,
  volumesOfClass: () => [],
  storageClass: () => undefined,
  reservedFor: () => undefined,
  limits: () => NO_LIMITS,
};
