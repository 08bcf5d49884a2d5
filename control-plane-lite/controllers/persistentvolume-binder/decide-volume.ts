/** What is to be done for a volume. Pure. Source: upstream's persistent volume controller (`syncVolume`,
 *  `reclaimVolume`), release 1.24. */
import type { PersistentVolume, PersistentVolumeClaim } from '#api/schema/gen/core-v1.ts';
import type { Told } from './decide-claim.ts';
import { isOtherMode } from './match.ts';
import { type BinderWords, hasAnnotation, nameOf } from './model.ts';

export type VolumeAction =
  | {
      readonly kind: 'phase';
      readonly phase: 'Available' | 'Bound' | 'Released' | 'Failed';
      readonly told?: Told;
    }
  /** The claim is to be looked at: it is not yet bound to the volume that is kept for it. */
  | { readonly kind: 'askClaim' }
  | { readonly kind: 'refuse'; readonly told: Told }
  /** The claim has another volume: this one is free again. */
  | { readonly kind: 'unbind' }
  | { readonly kind: 'none' };

/** `claim`: the live one that the volume names, whatever its uid; `undefined`: there is none. */
export function decideVolume(
  volume: PersistentVolume,
  claim: PersistentVolumeClaim | undefined,
  words: BinderWords,
): VolumeAction {
  const reference = volume.spec?.claimRef;
  if (reference === undefined || (reference.uid ?? '') === '') return { kind: 'phase', phase: 'Available' };
  if (claim === undefined || claim.metadata?.uid !== reference.uid) return release(volume, words);
  const bound = claim.spec?.volumeName ?? '';
  if (bound === nameOf(volume)) return { kind: 'phase', phase: 'Bound' };
  if (bound !== '') return leave(volume, words);
  if (!isOtherMode(volume, claim)) return { kind: 'askClaim' };
  const message = 'Cannot bind to the claim that the volume names: incompatible volumeMode';
  return { kind: 'refuse', told: { type: 'Warning', reason: 'VolumeMismatch', message } };
}

/** Its claim has taken another one. */
function leave(volume: PersistentVolume, words: BinderWords): VolumeAction {
  const wasMade = hasAnnotation(volume, words.provisionedBy);
  return wasMade && policyOf(volume) === 'Delete' ? release(volume, words) : { kind: 'unbind' };
}

const policyOf = ({ spec }: PersistentVolume): string => spec?.persistentVolumeReclaimPolicy ?? 'Retain';

/** Its claim is gone: it is released first, then comes what the policy says. */
function release(volume: PersistentVolume, words: BinderWords): VolumeAction {
  const phase = volume.status?.phase;
  if (phase !== 'Released' && phase !== 'Failed') return { kind: 'phase', phase: 'Released' };
  return phase === 'Failed' ? { kind: 'none' } : reclaim(volume, words);
}

/** Nobody here deletes or wipes what is on a volume: the external provisioner that made it does, or nobody. */
function reclaim(volume: PersistentVolume, { provisionedBy, internalPrefix }: BinderWords): VolumeAction {
  const fail = (reason: string, message: string): VolumeAction => ({
    kind: 'phase',
    phase: 'Failed',
    told: { type: 'Warning', reason, message },
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
