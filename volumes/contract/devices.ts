/** Contract of sources that are block devices. Formatting, mounting, bind mounts into pods and raw use are
 *  common to all of them (`defineDeviceSource`). */

import type { PersistentVolume } from '#api/gen/core-v1.ts';
import type { AttachableSource } from '#api/meta/volume-names.ts';
import type { ObjectReader } from '#api/schema/object-reader.ts';
import type { RunProgram } from '../programs/contract.ts';
import type { DevicePaths } from './device-paths.ts';
import type { SourceAbout, SourceFields } from './source.ts';
import type { UndoState } from './staging.ts';

export interface DeviceServices {
  readonly run: RunProgram;
  readonly paths: DevicePaths;
  readonly objects: ObjectReader;
  /** Namespace of the pod, for lookups of Secrets and Endpoints. */
  readonly namespace: string;
  /** The PersistentVolume that specifies the source. */
  readonly persistentVolume: PersistentVolume | undefined;
  /** The device path in `node.status.volumesAttached`: a path or, for some clouds, a number. Absent if the
   *  node does not get attachment reports. */
  readonly attachedAs?: string | undefined;
  /** State that `attach` saved last for this volume, by a pod that specified it differently or before a
   *  failure; absent if there is none. */
  readonly saved?: UndoState | undefined;
  /** Waits until one of the paths leads to a block device, driven by directory events, for at most 30 s.
   *  @returns the device itself, no link, such as `/dev/sdb`
   *  @throws VolumeSetupError naming the awaited device */
  waitForDevice(candidates: readonly string[], signal: AbortSignal): Promise<string>;
}

/** Services available when a volume is detached; its pod may no longer exist. */
export interface DetachServices extends Pick<DeviceServices, 'run' | 'paths'> {
  /** For a secret needed to detach the volume. */
  readonly objects?: ObjectReader;
}

/** Identity of a volume of such a source. */
export interface DeviceVolume {
  /** Unique on the node, in upstream's form: `<domain>/<plugin>/…`. */
  readonly uniqueName: string;
  /** From the source's field; `ext4` if that is empty. */
  readonly fsType: string;
  readonly readOnly: boolean;
  /** Partition number; undefined or 0 for the whole device. */
  readonly partition?: number;
}

export interface DevicePlugin<K extends keyof SourceFields> {
  readonly name: K;
  readonly about: SourceAbout;
  /** Directory name in pods, such as `iscsi` or `aws-ebs`. Source: upstream's plugin names without the
   *  domain. */
  readonly dirName: string;
  /** Checks the fields. `domain`: of the vocabulary. @throws VolumeSetupError with field, value and
   *  expectation */
  identify(spec: NonNullable<SourceFields[K]>, domain: string): DeviceVolume;
  /** An attacher attaches it: if the node gets attachment reports, it waits for this one. */
  readonly attachedByOthers?: boolean;
  /** Entry of the node's volumesInUse, if the volume is attached by a controller; otherwise absent. */
  inUse?(spec: NonNullable<SourceFields[K]>): AttachableSource;
  /** Attaches the device, or waits until it has been attached. Idempotent.
   *  @param save persists the state for `detach`; call it before each effect that must be undone
   *  @returns path of the device itself, regardless of partitions
   *  @throws VolumeSetupError */
  attach(
    spec: NonNullable<SourceFields[K]>,
    services: DeviceServices,
    save: (state: UndoState) => Promise<void>,
    signal: AbortSignal,
  ): Promise<string>;
  /** Undoes `attach` from the state it saved last, once the device is not mounted; not called if it saved
   *  nothing. Idempotent. Absent if a controller detaches. */
  detach?(state: UndoState, services: DetachServices, signal: AbortSignal): Promise<void>;
}
