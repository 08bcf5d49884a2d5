/** What the volumes room offers and what it needs. It knows pods and mounts, not the agent. */
import type { Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { AttachedVolume, Pod } from '#api/schema/gen/core-v1.ts';
import type { ObjectReader } from '#api/schema/object-reader.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { CsiVolumes } from './csi/contract.ts';
import type { DevicePaths } from './devices/contract.ts';
import type { Expander } from './expansion/expander.ts';
import type { FlexDrivers } from './flex/drivers.ts';
import type { RunProgram } from './programs/contract.ts';

/** A token for an audience (none is the API server itself) that is still good for a while.
 *  Rejects where it cannot be had. */
export type AccountTokenOf = (
  pod: Pod,
  request: { readonly audience: string; readonly expirationSeconds: number },
) => Promise<string>;

/** What the room is handed at start. */
export interface VolumeHost {
  /** The agent's root directory; pod directories are `<rootDir>/pods/<podUID>`. */
  readonly rootDir: string;
  readonly objects: ObjectReader;
  /** Whose objects a pod uses, where that depends on where the pod came from. */
  readonly objectsOf?: (pod: Pod) => ObjectReader;
  /** What can still be read when something is undone whose pod may be gone; `objects` by default. */
  readonly undoObjects?: ObjectReader;
  /** Whether an API server is told which volumes are in use, and mounts wait until it knows. Default: false. */
  readonly reportsVolumes?: boolean;
  /** A token of the pod's service account. Absent where nobody issues any. */
  readonly accountToken?: AccountTokenOf;
  readonly clock: Clock;
  readonly log: Logger;
  readonly vocabulary: Vocabulary;
  /** Runs helper programs of the system. */
  readonly run?: RunProgram;
  /** Whether the helper programs of a source have to be there before one of its volumes is begun. Default: a volume
   *  fails when it needs one that is not. */
  readonly checksPrograms?: boolean;
  /** CSI drivers. Default: none are served. */
  readonly csi?: CsiVolumes;
  /** Programs in the plugin directory. */
  readonly flexDrivers?: FlexDrivers;
  /** Where devices show up; `/dev` and `/sys` by default. */
  readonly devices?: DevicePaths;
  readonly emptyDirs?: EmptyDirOptions;
  /** Lets volumes grow whose claims have become larger. Absent where nobody keeps claims. */
  readonly expander?: Expander;
  /** Allocatable amounts by resource name in base units (cores, bytes), for downward API defaults. */
  readonly allocatable: () => Readonly<Record<string, number>>;
}

/** What the node does beyond making emptyDir volumes. */
export interface EmptyDirOptions {
  /** Those in memory are no larger than their limit, their pod's and the node's memory. Default: true. */
  readonly sizesMemory?: boolean;
  /** Lets the file system keep count of what is in a new folder on disk, where it can. Never rejects. */
  readonly countFolder?: (path: string) => Promise<void>;
}

/** A volume that is ready to be bound into containers. */
export interface MountedVolume {
  readonly name: string;
  /** Directory, file, socket or device on the host. */
  readonly hostPath: string;
  readonly readOnly: boolean;
  /** Whether the runtime should relabel it for SELinux. */
  readonly seLinuxRelabel: boolean;
}

export interface SubPathRequest {
  readonly podUID: string;
  readonly volume: MountedVolume;
  readonly containerName: string;
  /** Index of the mount in the container's volumeMounts. */
  readonly mountIndex: number;
  /** Relative path inside the volume, already expanded. */
  readonly subPath: string;
}

/** Names of volumes that are attached to the node and in use by its pods. */
export interface VolumesInUse {
  /** Finds out what an earlier run left. Until then, nothing that was told before is taken back. */
  begin(): Promise<void>;
  /** What the node is to tell, in order.
   *  @param told what it told last */
  names(told: readonly string[]): readonly string[];
  /** Takes note of what the server knows. */
  reported(names: readonly string[]): void;
  /** Takes note of what the server knows to be attached to the node. */
  attached(volumes: readonly AttachedVolume[]): void;
  /** Calls the listener when the names may be others. Returns the function that ends this. */
  onChange(listener: () => void): () => void;
}

export interface VolumeManager {
  readonly inUse: VolumesInUse;
  /** Makes every volume that the pod's containers use ready. Safe to repeat; one operation a volume at a time.
   *  @throws VolumeError naming every volume that is not ready. */
  mountPod(pod: Pod, signal: AbortSignal): Promise<ReadonlyMap<string, MountedVolume>>;
  /** Rewrites what changed in the pod's configMap, secret, downwardAPI and projected volumes, as far as
   *  mountPod made them ready. @throws VolumeError; a volume that failed keeps its files */
  refreshPod(pod: Pod): Promise<void>;
  /** Unmounts and removes everything of the pod's volumes, subPaths included, then the pod's volume folders.
   *  Works from the disk and the mount table alone; what is left after an error is found again by the next call.
   *  Folders of other owners in the pod's folder stay. @throws VolumeError of reason `FailedUnMount` */
  unmountPod(podUID: string): Promise<void>;
  /** Binds a subPath safely and returns the host path to mount; a racing container cannot make it leave the volume.
   *  Creates missing directories with the volume's mode. @throws VolumeError */
  prepareSubPath(request: SubPathRequest): Promise<string>;
  /** Undoes prepareSubPath for one container. @throws VolumeError of reason `FailedUnMount` */
  cleanSubPaths(podUID: string, containerName: string): Promise<void>;
  /** Lets what failed of the pod's volumes be tried at once: something that they need may have changed. */
  retryPod(podUID: string): void;
  /** Undoes what an earlier agent left staged on the node and no pod on disk has. Ends when that is done, or with the
   *  signal; never rejects. */
  recover(signal: AbortSignal): Promise<void>;
  /** UIDs of pods that still have a folder under the root directory. */
  podsOnDisk(): Promise<readonly string[]>;
}

/** A volume that could not be made ready. `reason` is the event reason, `FailedMount` unless more is known. */
export class VolumeError extends Error {
  readonly reason: string;
  readonly volumes: readonly string[];
  /** How long nothing is tried again, in ms; 0 where it may be tried at once. Not in the message, so that the same
   *  failure has the same words each time. */
  readonly heldBackMs: number;

  constructor(
    message: string,
    options: { reason?: string; volumes: readonly string[]; heldBackMs?: number; cause?: unknown },
  ) {
    super(message, { cause: options.cause });
    this.name = 'VolumeError';
    this.reason = options.reason ?? 'FailedMount';
    this.volumes = options.volumes;
    this.heldBackMs = options.heldBackMs ?? 0;
  }
}
