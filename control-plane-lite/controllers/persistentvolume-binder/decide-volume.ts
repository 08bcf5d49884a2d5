/** Decisions about a volume. Pure. Source: upstream's persistent volume controller (`syncVolume`,
 *  `reclaimVolume`), release 1.24. */
import type { PersistentVolume, PersistentVolumeClaim } from '#api/gen/core-v1.ts';
import type { EventText } from './decide-claim.ts';
import { isOtherMode } from './match.ts';
import { type BinderNames, hasAnnotation, nameOf } from './model.ts';

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
  | { readonly kind: 'none' };

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

/** This controller neither deletes nor recycles volumes: only the external provisioner that created a volume
 *  does. */
function reclaim(volume: PersistentVolume, { provisionedBy, internalPrefix }: BinderNames): VolumeAction {
  const fail = (reason: string, message: string): VolumeAction => ({
    kind: 'phase',
    phase: 'Failed',
    event: { type: 'Warning', reason, message },
  });
  switch (policyOf(volume)) {
    case 'Recycle':
      return fail('VolumeFailedRecycle', 'No recycler plugin found for the volume!');
    case 'Delete': {
      const provisioner = volume.metadata?.annotations?.[provisionedBy] ?? '';
      if (provisioner !== '' && !provisioner.startsWith(internalPrefix)) return { kind: 'none' };
      return fail(
        'VolumeFailedDelete',
        `error getting deleter volume plugin for volume "${nameOf(volume)}": no deletable volume plugin matched`,
      );
    }
    default:
      return { kind: 'none' };
  }
}
