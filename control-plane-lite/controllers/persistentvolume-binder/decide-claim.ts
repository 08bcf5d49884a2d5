/** Decisions about a claim. Pure. Source: upstream's persistent volume controller (`syncClaim`), release
 *  1.24. */
import type { PersistentVolume, PersistentVolumeClaim } from '#api/gen/core-v1.ts';
import type { StorageClass } from '#api/gen/storage-v1.ts';
import { findVolume, mismatchOf } from './match.ts';
import { type BinderNames, classOf, hasAnnotation, isForClaim, nameOf } from './model.ts';

/** Event about the claim. */
export interface Told {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

export type ClaimAction =
  | { readonly kind: 'bind'; readonly volume: PersistentVolume }
  | { readonly kind: 'wait'; readonly told?: Told }
  /** An external provisioner creates a volume. */
  | { readonly kind: 'provision'; readonly provisioner: string; readonly told: Told }
  | { readonly kind: 'lose'; readonly told: Told };

export interface ClaimView {
  readonly words: BinderNames;
  readonly volume: (name: string) => PersistentVolume | undefined;
  /** Candidates: volumes of the claim's class, and pre-bound ones. */
  readonly candidates: (claim: PersistentVolumeClaim) => Iterable<PersistentVolume>;
  readonly storageClass: (name: string) => StorageClass | undefined;
}

const normal = (reason: string, message: string): Told => ({ type: 'Normal', reason, message });
const warning = (reason: string, message: string): Told => ({ type: 'Warning', reason, message });

export function decideClaim(claim: PersistentVolumeClaim, view: ClaimView): ClaimAction {
  if (hasAnnotation(claim, view.words.bindCompleted)) return decideBound(claim, view);
  const wanted = claim.spec?.volumeName ?? '';
  return wanted === '' ? decideUnbound(claim, view) : decideNamed(claim, wanted, view);
}

function decideUnbound(claim: PersistentVolumeClaim, view: ClaimView): ClaimAction {
  const { words } = view;
  const className = classOf(claim, words);
  const storageClass = view.storageClass(className);
  const waits =
    storageClass?.volumeBindingMode === 'WaitForFirstConsumer' && !hasAnnotation(claim, words.selectedNode);
  const volume = findVolume(claim, view.candidates(claim), { words, onlyKept: waits });
  if (volume !== undefined) return { kind: 'bind', volume };
  if (waits) {
    const message = 'waiting for first consumer to be created before binding';
    return { kind: 'wait', told: normal('WaitForFirstConsumer', message) };
  }
  if (className === '') {
    const message = 'no persistent volumes available for this claim and no storage class is set';
    return { kind: 'wait', told: normal('FailedBinding', message) };
  }
  return decideProvisioning(className, storageClass, words);
}

function decideProvisioning(
  className: string,
  storageClass: StorageClass | undefined,
  { internalPrefix }: BinderNames,
): ClaimAction {
  if (storageClass === undefined) {
    const message = `storage class "${className}" not found`;
    return { kind: 'wait', told: warning('ProvisioningFailed', message) };
  }
  const { provisioner } = storageClass;
  if (provisioner.startsWith(internalPrefix)) {
    const message = `no volume plugin matched name: ${provisioner}`;
    return { kind: 'wait', told: warning('ProvisioningFailed', message) };
  }
  const message = `waiting for a volume to be created, either by external provisioner "${provisioner}" or manually created by system administrator`;
  return { kind: 'provision', provisioner, told: normal('ExternalProvisioning', message) };
}

/** A claim that names its volume. */
function decideNamed(claim: PersistentVolumeClaim, wanted: string, view: ClaimView): ClaimAction {
  const volume = view.volume(wanted);
  if (volume === undefined) return { kind: 'wait' };
  if (volume.spec?.claimRef === undefined) {
    const mismatch = mismatchOf(volume, claim, view.words);
    if (mismatch === undefined) return { kind: 'bind', volume };
    const message = `Cannot bind to requested volume "${wanted}": ${mismatch}`;
    return { kind: 'wait', told: warning('VolumeMismatch', message) };
  }
  if (isForClaim(volume, claim)) return { kind: 'bind', volume };
  const message = `volume "${wanted}" already bound to a different claim.`;
  return { kind: 'wait', told: warning('FailedBinding', message) };
}

function decideBound(claim: PersistentVolumeClaim, view: ClaimView): ClaimAction {
  const name = claim.spec?.volumeName ?? '';
  const lose = (reason: string, message: string): ClaimAction => ({
    kind: 'lose',
    told: warning(reason, message),
  });
  if (name === '') {
    return lose(
      'ClaimLost',
      'Bound claim has lost reference to PersistentVolume. Data on the volume is lost!',
    );
  }
  const volume = view.volume(name);
  if (volume === undefined || nameOf(volume) === '') {
    return lose('ClaimLost', 'Bound claim has lost its PersistentVolume. Data on the volume is lost!');
  }
  const reference = volume.spec?.claimRef;
  if (reference === undefined || reference.uid === claim.metadata?.uid) return { kind: 'bind', volume };
  return lose('ClaimMisbound', 'Two claims are bound to the same volume, this one is bound incorrectly');
}
