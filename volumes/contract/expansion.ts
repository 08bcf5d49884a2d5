/** Contract of volume expansion on the node.
 *
 *      claim requests more ─▶ volume expanded (storage) ─▶ PersistentVolume updated ─▶ node: `expand` ─▶ claim updated */

import type { PersistentVolume, PersistentVolumeClaim, Pod } from '#api/gen/core-v1.ts';
import type { ObjectReader } from '#api/schema/object-reader.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';

export interface ExpandRequest {
  /** Current size in the PersistentVolume, such as `2Gi`. */
  readonly size: string;
  readonly sizeBytes: number;
  /** Size that the claim still reports. */
  readonly sizeBeforeBytes: number;
  readonly signal: AbortSignal;
}

/** Expands the pod's mounted volume on the node to the size of its PersistentVolume. Idempotent.
 *  @throws ExpansionRefusedError, or any other error to be retried later */
export type Expand = (request: ExpandRequest) => Promise<void>;

/** The volume cannot be expanded while it is in use here. Pods use it as it is; expansion is not retried
 *  for this pod. */
export class ExpansionRefusedError extends VolumeSetupError {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'ExpansionRefusedError';
  }
}

/** One claim whose volume has been expanded. */
export interface Expansion {
  readonly pod: Pod;
  readonly claim: PersistentVolumeClaim;
  readonly volume: PersistentVolume;
  /** Size of the volume. */
  readonly size: string;
}

/** Receivers of expansion progress. They do not reject unless noted. */
export interface ExpansionReports {
  /** Node expansion starts. Rejects if the server is unavailable. */
  begun(expansion: Expansion, signal: AbortSignal): Promise<void>;
  /** The volume has the size of its PersistentVolume. Rejects if the server is unavailable. */
  finished(expansion: Expansion, signal: AbortSignal): Promise<void>;
  /** It is mounted read-only and stays as it is. */
  readOnly(expansion: Expansion): void;
  /** Expansion failed.
   *  @param isUsed pods use the volume as it is, and no other event reports the error */
  failed(expansion: Expansion, error: Error, isUsed: boolean): void;
}

/** A claim's volume in a pod that has it mounted. */
export interface ClaimInUse {
  readonly pod: Pod;
  readonly claim: PersistentVolumeClaim;
  readonly volume: PersistentVolume;
  readonly readOnly: boolean;
  readonly expand: Expand;
}

export interface Expander {
  /** Call this when the volume is ready and before the pod uses it.
   *  @returns the maintenance function for the time in which the pod uses it; it rejects only with the
   *    signal's reason
   *  @throws the error of a volume that must be expanded first */
  follow(
    use: ClaimInUse,
    objects: Pick<ObjectReader, 'getPersistentVolumeClaim' | 'getPersistentVolume'>,
    signal: AbortSignal,
  ): Promise<(signal: AbortSignal) => Promise<void>>;
}
