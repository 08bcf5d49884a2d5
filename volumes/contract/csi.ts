/** Contract between CSI volumes and the rest of the agent. */
import type { Pod } from '#api/gen/core-v1.ts';
import type { CSIDriver, VolumeAttachmentSource } from '#api/gen/storage-v1.ts';
import type { Node as NodeService, NodeServiceCapabilityRPCType } from '#cri/gen/csi-v1.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';

/** A registered driver. */
export interface Driver {
  readonly name: string;
  readonly endpoint: string;
  /** Name of this node in the driver's terms. */
  readonly nodeID: string;
  /** Topology labels of the node, in the driver's terms. */
  readonly topology: Readonly<Record<string, string>>;
  /** Maximum number of volumes on the node; undefined if unlimited. */
  readonly maxVolumes: number | undefined;
  readonly capabilities: ReadonlySet<NodeServiceCapabilityRPCType>;
  readonly node: NodeService;
}

/** The drivers of this node. */
export interface Drivers {
  list(): readonly Driver[];
  /** @throws VolumeSetupError naming the driver and the registration directory */
  get(name: string): Driver;
  /** Calls the listener after a driver was added, changed or removed. Returns the unsubscribe function. */
  onChange(listener: () => void): () => void;
}

/** A volume that an attacher must attach to this node. */
export interface Attachment {
  readonly driver: string;
  readonly volumeHandle: string;
  readonly source: VolumeAttachmentSource;
}

/** The attachment has not been started, so there is nothing to undo. */
export class AttachRefusedError extends VolumeSetupError {
  constructor(message: string, options: { readonly cause: unknown }) {
    super(message, { ...options, reason: 'FailedAttachVolume' });
    this.name = 'AttachRefusedError';
  }
}

/** Attachment through VolumeAttachments of an API server. */
export interface Attacher {
  /** Resolves with the publish context once the volume is attached.
   *  @throws AttachRefusedError; VolumeSetupError with the attacher's error */
  attach(attachment: Attachment, signal: AbortSignal): Promise<Readonly<Record<string, string>>>;
  /** Records that the volume has just been attached, for the pod that waited for it. Absent if a controller
   *  reports it.
   *  @param name of the PersistentVolume, or of the pod's volume */
  readonly attached?: (pod: Pod, name: string) => void;
  /** Resolves once the volume is detached, or once detaching is left to a controller. */
  detach(attachment: Pick<Attachment, 'driver' | 'volumeHandle'>, signal: AbortSignal): Promise<void>;
}

/** CSI services that sources use. */
export interface CsiVolumes {
  readonly drivers: Drivers;
  /** Returns the CSIDriver object; undefined if it does not exist. */
  readonly driverObject: (name: string) => Promise<CSIDriver | undefined>;
  /** Absent without an API server: then volumes cannot be attached. */
  readonly attacher?: Attacher;
  /** Enabled feature gates. */
  readonly gates: ReadonlySet<string>;
  /** From the vocabulary: attributes are named `csi.storage.<apiGroupDomain>/…`. */
  readonly apiGroupDomain: string;
}
