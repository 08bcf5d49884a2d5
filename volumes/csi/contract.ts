/** What CSI volumes need from the rest of the agent, and what they offer. */
import type { Pod } from '#api/schema/gen/core-v1.ts';
import type { CSIDriver, VolumeAttachmentSource } from '#api/schema/gen/storage-v1.ts';
import type { Node as NodeService, NodeServiceCapabilityRPCType } from '#cri/gen/csi-v1.ts';
import { VolumeSetupError } from '../setup-error.ts';

/** A driver that has registered. */
export interface Driver {
  readonly name: string;
  readonly endpoint: string;
  /** What the driver calls this node. */
  readonly nodeID: string;
  /** Labels that tell where the node is, in the driver's terms. */
  readonly topology: Readonly<Record<string, string>>;
  /** How many volumes the node can have; undefined: as many as one likes. */
  readonly maxVolumes: number | undefined;
  readonly capabilities: ReadonlySet<NodeServiceCapabilityRPCType>;
  readonly node: NodeService;
}

/** The drivers of this node. */
export interface Drivers {
  list(): readonly Driver[];
  /** @throws VolumeSetupError naming the driver and where it would register */
  get(name: string): Driver;
  /** Calls the listener after a driver came, changed or went. Returns the function that ends this. */
  onChange(listener: () => void): () => void;
}

/** A volume that somebody has to attach to this node. */
export interface Attachment {
  readonly driver: string;
  readonly volumeHandle: string;
  readonly source: VolumeAttachmentSource;
}

/** Nobody has begun to attach the volume, so that there is nothing to take back. */
export class AttachRefusedError extends VolumeSetupError {
  constructor(message: string, options: { readonly cause: unknown }) {
    super(message, { ...options, reason: 'FailedAttachVolume' });
    this.name = 'AttachRefusedError';
  }
}

/** Attaching by VolumeAttachments of an API server. */
export interface Attacher {
  /** Resolves when the volume is attached, with what its attacher has to say to the driver.
   *  @throws AttachRefusedError; VolumeSetupError, with what kept the attacher from it */
  attach(attachment: Attachment, signal: AbortSignal): Promise<Readonly<Record<string, string>>>;
  /** Takes note that a volume is attached which was not, for the pod that waited for it. Absent where others tell it.
   *  @param name of the PersistentVolume, or of the pod's volume */
  readonly attached?: (pod: Pod, name: string) => void;
  /** Resolves when the volume is detached, or others see to it. */
  detach(attachment: Pick<Attachment, 'driver' | 'volumeHandle'>, signal: AbortSignal): Promise<void>;
}

/** What sources may use of CSI. */
export interface CsiVolumes {
  readonly drivers: Drivers;
  /** The object that says how the driver wants to be used; undefined where there is none. */
  readonly driverObject: (name: string) => Promise<CSIDriver | undefined>;
  /** Absent where there is no API server: then nobody can attach. */
  readonly attacher?: Attacher;
  /** Feature gates that are on. */
  readonly gates: ReadonlySet<string>;
  /** Of the vocabulary: attributes are called `csi.storage.<apiGroupDomain>/…`. */
  readonly apiGroupDomain: string;
}
