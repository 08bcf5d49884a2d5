/** Public interface of volumes and its dependencies. It knows pods and mounts, not the agent. */

import type { AttachedVolume, Pod, Volume } from '#api/gen/core-v1.ts';
import type { Clock } from '#api/kit/clock.ts';
import type { Int64 } from '#api/kit/int64.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { ObjectReader } from '#api/schema/object-reader.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { RunProgram } from '../programs/contract.ts';
import type { CsiVolumes } from './csi.ts';
import type { DevicePaths } from './device-paths.ts';
import type { Expander } from './expansion.ts';
import type { FlexDrivers } from './flex.ts';
import type { LocalVolumes } from './local-volumes.ts';

/** Returns a token for an audience (by default the API server) that is valid for a while.
 *  Rejects if none can be issued. */
export type AccountTokenOf = (
  pod: Pod,
  request: { readonly audience: string; readonly expirationSeconds: Int64 },
) => Promise<string>;

/** @param volume of the pod; undefined if the pod does not define it */
export type VolumeOperationDone = (
  volume: Volume | undefined,
  operation: 'mount' | 'unmount',
  durationMs: number,
  failed: boolean,
) => void;

/** Dependencies passed at start. */
export interface VolumeHost {
  /** The agent's root directory; pod directories are `<rootDir>/pods/<podUID>`. */
  readonly rootDir: string;
  readonly objects: ObjectReader;
  /** Returns the reader of objects for a pod, if that depends on the pod's source. */
  readonly objectsOf?: (pod: Pod) => ObjectReader;
  /** Reader for undoing volumes of pods that may be gone; `objects` by default. */
  readonly undoObjects?: ObjectReader;
  /** Whether volumes in use are reported to an API server, and mounts wait for the report. Default: false. */
  readonly reportsVolumes?: boolean;
  /** Returns a token of the pod's service account. Absent if none can be issued. */
  readonly accountToken?: AccountTokenOf;
  readonly clock: Clock;
  readonly log: Logger;
  readonly vocabulary: Vocabulary;
  /** Called after each setup and teardown of a volume. */
  readonly operationDone?: VolumeOperationDone;
  /** Runs helper programs of the system. */
  readonly run?: RunProgram;
  /** Whether the helper programs of a source must exist before one of its volumes is set up. By default,
   *  setup fails when a missing program is needed. */
  readonly checksPrograms?: boolean;
  /** CSI drivers. Default: CSI is not supported. */
  readonly csi?: CsiVolumes;
  /** Flex drivers in the plugin directory. */
  readonly flexDrivers?: FlexDrivers;
  /** Directories of devices; `/dev` and `/sys` by default. */
  readonly devices?: DevicePaths;
  readonly emptyDirs?: EmptyDirOptions;
  /** Expands volumes whose claims have been expanded. Absent if no controller maintains claims. */
  readonly expander?: Expander;
  /** Volumes that the agent created. Default: there are none. */
  readonly localVolumes?: Pick<LocalVolumes, 'prepare'>;
  /** Allocatable amounts by resource name in base units (cores, bytes), for downward API defaults. */
  readonly allocatable: () => Readonly<Record<string, number>>;
}

/** Options of emptyDir volumes. */
export interface EmptyDirOptions {
  /** Limits those in memory to the smallest of their limit and the memory of pod and node. Default: true. */
  readonly sizesMemory?: boolean;
  /** Enables quota accounting for a new directory on disk, if the file system supports it. Never rejects. */
  readonly countFolder?: (path: string) => Promise<void>;
}

/** A volume that is ready to be mounted into containers. */
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

/** Names of volumes attached to the node and in use by its pods. */
export interface VolumesInUse {
  /** Reads the volumes left by an earlier run. Until then, no reported volume is withdrawn. */
  begin(): Promise<void>;
  /** Returns the sorted names for the node's status.
   *  @param before names in the last report */
  names(before: readonly string[]): readonly string[];
  /** Records the names that the server knows. */
  reported(names: readonly string[]): void;
  /** Records the volumes that the server reports as attached to the node. */
  attached(volumes: readonly AttachedVolume[]): void;
  /** Calls the listener when the names may have changed. Returns the unsubscribe function. */
  onChange(listener: () => void): () => void;
}

export interface VolumeManager {
  readonly inUse: VolumesInUse;
  /** Sets up every volume that the pod's containers use. Idempotent; one operation at a time per volume.
   *  @throws VolumeError naming every volume that is not ready. */
  mountPod(pod: Pod, signal: AbortSignal): Promise<ReadonlyMap<string, MountedVolume>>;
  /** Updates changed content of the pod's configMap, secret, downwardAPI and projected volumes that
   *  mountPod has set up. @throws VolumeError; a volume that failed keeps its files */
  refreshPod(pod: Pod): Promise<void>;
  /** Unmounts and removes all volumes of the pod, subPaths included, then the pod's volume directories.
   *  Uses only the disk and the mount table; after an error, the next call finds what is left. Other
   *  directories of the pod stay. @throws VolumeError of reason `FailedUnMount` */
  unmountPod(podUID: string): Promise<void>;
  /** Binds a subPath safely and returns the host path to mount; a racing container cannot make it leave
   *  the volume. Creates missing directories with the volume's mode. @throws VolumeError */
  prepareSubPath(request: SubPathRequest): Promise<string>;
  /** Undoes prepareSubPath for one container. @throws VolumeError of reason `FailedUnMount` */
  cleanSubPaths(podUID: string, containerName: string): Promise<void>;
  /** Resets the backoff of the pod's failed volumes, since their dependencies may have changed. */
  retryPod(podUID: string): void;
  /** Unstages volumes that an earlier agent left staged and no pod on disk uses. Resolves when that is
   *  done, or with the signal; never rejects. */
  recover(signal: AbortSignal): Promise<void>;
  /** Returns the UIDs of pods whose directory still exists. */
  podsOnDisk(): Promise<readonly string[]>;
}
