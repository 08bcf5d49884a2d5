/** Volumes that become larger: what sources do on the node, and what they need not know.
 *
 *      claim asks for more ─▶ volume grows (others) ─▶ PersistentVolume says so ─▶ node: `expand` ─▶ claim says so */
import type { PersistentVolume, PersistentVolumeClaim, Pod } from '#api/schema/gen/core-v1.ts';
import { VolumeSetupError } from '../setup-error.ts';

export interface ExpandRequest {
  /** As the PersistentVolume says it now, such as `2Gi`. */
  readonly size: string;
  readonly sizeBytes: number;
  /** As the claim still says it. */
  readonly sizeBeforeBytes: number;
  readonly signal: AbortSignal;
}

/** Lets the pod's volume have on the node the size that its PersistentVolume has, mounted as it is. Repeats harmlessly.
 *  @throws ExpansionRefusedError, or anything else to have it tried again later */
export type Expand = (request: ExpandRequest) => Promise<void>;

/** The volume cannot grow while it is in use here. Pods get it as it is; it is not tried again for this pod. */
export class ExpansionRefusedError extends VolumeSetupError {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'ExpansionRefusedError';
  }
}

/** One claim whose volume has become larger. */
export interface Expansion {
  readonly pod: Pod;
  readonly claim: PersistentVolumeClaim;
  readonly volume: PersistentVolume;
  /** The volume's. */
  readonly size: string;
}

/** Whom the node tells of growth. None of them rejects but where it says so. */
export interface ExpansionReports {
  /** The node is about to grow it. Rejects when the server can't be told. */
  begun(expansion: Expansion, signal: AbortSignal): Promise<void>;
  /** It is as large as its PersistentVolume. Rejects when the server can't be told. */
  finished(expansion: Expansion, signal: AbortSignal): Promise<void>;
  /** It is mounted for reading alone, and stays as it is. */
  readOnly(expansion: Expansion): void;
  /** Growing failed.
   *  @param isUsed pods have the volume as it is, and nobody else tells of it */
  failed(expansion: Expansion, error: Error, isUsed: boolean): void;
}
