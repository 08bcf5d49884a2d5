/** Decisions about a volume. Pure. Source: upstream's persistent volume controller (`syncVolume`,
 *  `reclaimVolume`), release 1.24. */
import type { PersistentVolume, PersistentVolumeClaim } from '#api/gen/core-v1.ts';
import type { EventText } from './decide-claim.ts';
import { isOtherMode } from './match.ts';
import { type BinderNames, hasAnnotation, nameOf } from './model.ts';
import { decideReclaim, type Reclaim } from './reclaim.ts';

export type VolumeAction =
  | {
      readonly kind: 'phase';
      readonly phase: 'Available' | 'Bound' | 'Released' | 'Failed';
      readonly event?: EventText;
    }
  /** Reconcile the claim: it is not yet bound to the volume that is pre-bound to it. */
  | { readonly kind: 'queueClaim' }
  | { readonly kind: 'reject'; readonly event: EventText }
  /** The claim has another volume: this one becomes available again. */
  | { readonly kind: 'unbind' }
  | Exclude<Reclaim, { readonly kind: 'failed' }>;

/** `claim`: the existing claim that the volume names, whatever its uid; `undefined`: none. */
export function decideVolume(
  volume: PersistentVolume,
  claim: PersistentVolumeClaim | undefined,
  names: BinderNames,
): VolumeAction {
  const reference = volume.spec?.claimRef;
  if (reference === undefined || (reference.uid ?? '') === '') return { kind: 'phase', phase: 'Available' };
  if (claim === undefined || claim.metadata?.uid !== reference.uid) return release(volume, names);
  const bound = claim.spec?.volumeName ?? '';
  if (bound === nameOf(volume)) return { kind: 'phase', phase: 'Bound' };
  if (bound !== '') return leave(volume, names);
  if (!isOtherMode(volume, claim)) return { kind: 'queueClaim' };
  const message = 'Cannot bind to the claim that the volume names: incompatible volumeMode';
  return { kind: 'reject', event: { type: 'Warning', reason: 'VolumeMismatch', message } };
}

/** Its claim is bound to another volume. */
function leave(volume: PersistentVolume, names: BinderNames): VolumeAction {
  const wasMade = hasAnnotation(volume, names.provisionedBy);
  return wasMade && policyOf(volume) === 'Delete' ? release(volume, names) : { kind: 'unbind' };
}

const policyOf = ({ spec }: PersistentVolume): string => spec?.persistentVolumeReclaimPolicy ?? 'Retain';

/** Its claim was deleted: the volume is released first, then reclaimed by its policy. */
function release(volume: PersistentVolume, names: BinderNames): VolumeAction {
  const phase = volume.status?.phase;
  if (phase !== 'Released' && phase !== 'Failed') return { kind: 'phase', phase: 'Released' };
  return phase === 'Failed' ? { kind: 'none' } : reclaim(volume, names);
}

function reclaim(volume: PersistentVolume, names: BinderNames): VolumeAction {
  const action = decideReclaim(volume, names);
  if (action.kind !== 'failed') return action;
  const { reason, message } = action;
  return { kind: 'phase', phase: 'Failed', event: { type: 'Warning', reason, message } };
}
