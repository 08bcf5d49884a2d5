/** Decisions about a claim. Pure. Source: upstream's persistent volume controller (`syncClaim`), release
 *  1.24. */
import type { PersistentVolume, PersistentVolumeClaim } from '#api/gen/core-v1.ts';
import type { StorageClass } from '#api/gen/storage-v1.ts';
import { findVolume, mismatchOf } from './match.ts';
import { type BinderNames, classOf, hasAnnotation, isForClaim, nameOf } from './model.ts';

/** Event about the claim. */
export interface EventText {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

export type ClaimAction =
  | { readonly kind: 'bind'; readonly volume: PersistentVolume }
  | { readonly kind: 'wait'; readonly event?: EventText }
  /** An external provisioner creates a volume. */
  | { readonly kind: 'provision'; readonly provisioner: string; readonly event: EventText }
  | { readonly kind: 'lose'; readonly event: EventText };

export interface ClaimView {
  readonly names: BinderNames;
  readonly volume: (name: string) => PersistentVolume | undefined;
  /** Candidates: volumes of the claim's class, and pre-bound ones. */
  readonly candidates: (claim: PersistentVolumeClaim) => Iterable<PersistentVolume>;
  readonly storageClass: (name: string) => StorageClass | undefined;
}

const normal = (reason: string, message: string): EventText => ({ type: 'Normal', reason, message });
const warning = (reason: string, message: string): EventText => ({ type: 'Warning', reason, message });

export function decideClaim(claim: PersistentVolumeClaim, view: ClaimView): ClaimAction {
  if (hasAnnotation(claim, view.names.bindCompleted)) return decideBound(claim, view);
  const wanted = claim.spec?.volumeName ?? '';
  return wanted === '' ? decideUnbound(claim, view) : decideNamed(claim, wanted, view);
}

function decideUnbound(claim: PersistentVolumeClaim, view: ClaimView): ClaimAction {
  const { names } = view;
  const className = classOf(claim, names);
  const storageClass = view.storageClass(className);
  const waits =
    storageClass?.volumeBindingMode === 'WaitForFirstConsumer' && !hasAnnotation(claim, names.selectedNode);
  const volume = findVolume(claim, view.candidates(claim), { names, onlyKept: waits });
  if (volume !== undefined) return { kind: 'bind', volume };
  if (waits) {
    const message = 'waiting for first consumer to be created before binding';
    return { kind: 'wait', event: normal('WaitForFirstConsumer', message) };
  }
  if (className === '') {
    const message = 'no persistent volumes available for this claim and no storage class is set';
    return { kind: 'wait', event: normal('FailedBinding', message) };
  }
  return decideProvisioning(className, storageClass, names);
}

function decideProvisioning(
  className: string,
  storageClass: StorageClass | undefined,
  { internalPrefix }: BinderNames,
): ClaimAction {
  if (storageClass === undefined) {
    const message = `storage class "${className}" not found`;
    return { kind: 'wait', event: warning('ProvisioningFailed', message) };
  }
  const { provisioner } = storageClass;
  if (provisioner.startsWith(internalPrefix)) {
    const message = `no volume plugin matched name: ${provisioner}`;
    return { kind: 'wait', event: warning('ProvisioningFailed', message) };
  }
  const message = `waiting for a volume to be created, either by external provisioner "${provisioner}" or manually created by system administrator`;
  return { kind: 'provision', provisioner, event: normal('ExternalProvisioning', message) };
}

/** A claim that names its volume. */
function decideNamed(claim: PersistentVolumeClaim, wanted: string, view: ClaimView): ClaimAction {
  const volume = view.volume(wanted);
  if (volume === undefined) return { kind: 'wait' };
  if (volume.spec?.claimRef === undefined) {
    const mismatch = mismatchOf(volume, claim, view.names);
    if (mismatch === undefined) return { kind: 'bind', volume };
    const message = `Cannot bind to requested volume "${wanted}": ${mismatch}`;
    return { kind: 'wait', event: warning('VolumeMismatch', message) };
  }
  if (isForClaim(volume, claim)) return { kind: 'bind', volume };
  const message = `volume "${wanted}" already bound to a different claim.`;
  return { kind: 'wait', event: warning('FailedBinding', message) };
}

function decideBound(claim: PersistentVolumeClaim, view: ClaimView): ClaimAction {
  const name = claim.spec?.volumeName ?? '';
  const lose = (reason: string, message: string): ClaimAction => ({
    kind: 'lose',
    event: warning(reason, message),
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
