/** Sources that are block devices on the node: what one of them has to know. Formatting, mounting, binding into pods
 *  and raw use are the same for all of them (`defineDeviceSource`). */
import type { AttachableSource } from '#api/meta/volume-names.ts';
import type { PersistentVolume } from '#api/schema/gen/core-v1.ts';
import type { ObjectReader } from '#api/schema/object-reader.ts';
import type { RunProgram } from '../programs/contract.ts';
import type { SourceAbout, SourceFields } from '../sources/source.ts';
import type { UndoState } from '../staging/contract.ts';

/** Where devices show up; other folders in tests. */
export interface DevicePaths {
  /** `/dev` */
  readonly dev: string;
  /** `/sys` */
  readonly sys: string;
}

export interface DeviceServices {
  readonly run: RunProgram;
  readonly paths: DevicePaths;
  readonly objects: ObjectReader;
  /** Namespace of the pod, in which secrets and endpoints are looked for. */
  readonly namespace: string;
  /** The PersistentVolume through which the source was reached. */
  readonly persistentVolume: PersistentVolume | undefined;
  /** The device as `node.status.volumesAttached` has it: a path or, of some clouds, a number. Absent where nobody
   *  tells the node. */
  readonly attachedAs?: string | undefined;
  /** What `attach` saved last of this volume, for a pod that named it in other words or before a failure; absent where
   *  there is nothing. */
  readonly saved?: UndoState | undefined;
  /** Waits until one of the paths leads to a block device. Driven by events of the folders, for 30 s at most.
   *  @returns the device itself, no link, such as `/dev/sdb`
   *  @throws VolumeSetupError naming what was waited for */
  waitForDevice(candidates: readonly string[], signal: AbortSignal): Promise<string>;
}

/** What is at hand when a volume is taken away whose pod may be gone. */
export interface DetachServices extends Pick<DeviceServices, 'run' | 'paths'> {
  /** For a secret by which it is taken away. */
  readonly objects?: ObjectReader;
}

/** What a volume of such a source comes to. */
export interface DeviceVolume {
  /** Unique on the node, as upstream names it: `<domain>/<plugin>/…`. */
  readonly uniqueName: string;
  /** Of the source's own field; `ext4` where it is empty. */
  readonly fsType: string;
  readonly readOnly: boolean;
  /** Number of the partition; undefined or 0 for the whole device. */
  readonly partition?: number;
}

export interface DevicePlugin<K extends keyof SourceFields> {
  readonly name: K;
  readonly about: SourceAbout;
  /** Folder name in pods, such as `iscsi` or `aws-ebs`. Source: upstream's plugin names without the domain. */
  readonly dirName: string;
  /** Checks the fields. `domain`: of the vocabulary. @throws VolumeSetupError naming field, value and what is right */
  identify(spec: NonNullable<SourceFields[K]>, domain: string): DeviceVolume;
  /** Others attach it: where the node is told of attachments, it waits for this one. */
  readonly attachedByOthers?: boolean;
  /** What the node tells to be in use, where others have to allow the volume to be attached; absent where nobody has
   *  to. */
  inUse?(spec: NonNullable<SourceFields[K]>): AttachableSource;
  /** Makes the device appear, or waits until others did. Repeats harmlessly.
   *  @param save keeps what `detach` needs; to be called before each effect that has to be undone
   *  @returns path of the device itself, without regard to partitions
   *  @throws VolumeSetupError */
  attach(
    spec: NonNullable<SourceFields[K]>,
    services: DeviceServices,
    save: (state: UndoState) => Promise<void>,
    signal: AbortSignal,
  ): Promise<string>;
  /** Undoes `attach` from what it saved last, when nothing has the device mounted; not called when it saved nothing.
   *  Harmless when it is done already. Absent where others detach. */
  detach?(state: UndoState, services: DetachServices, signal: AbortSignal): Promise<void>;
}
